package rls

import (
	"errors"
	"fmt"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// MaxDescriptors is the maximum number of descriptors in a request, which is what RL.ALL takes.
const MaxDescriptors = engine.MaxParts

// MaxHits is the maximum number of tokens that a descriptor can ask for.
const MaxHits = limits.MaxTokens

// Request is one request of Envoy.
type Request struct {
	Domain      string
	Descriptors []Descriptor
	MaxKeyBytes int // of the server
}

// Descriptor is one descriptor of a request.
type Descriptor struct {
	Entries  []Entry
	Hits     uint64    // tokens to take; 0 asks whether the limit is used up
	Override *Override // a limit that replaces the rules; nil for none
}

// Override is a limit that comes with a request.
type Override struct {
	Requests uint32
	Unit     Unit
}

// Errors of a request that is not answered.
var (
	ErrRequest = errors.New("the request is not valid")
	ErrReply   = errors.New("a command was answered with an error")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRequest, fmt.Sprintf(format, args...))
}

// check refuses requests that are wrong regardless of the rules.
func (r *Request) check() error {
	switch {
	case r.Domain == "":
		return invalid("its domain is empty: give it the domain of the configuration, such as domain: example")
	case len(r.Descriptors) == 0:
		return invalid("it has no descriptors; send at least one")
	case len(r.Descriptors) > MaxDescriptors:
		return invalid("it has %d descriptors; send at most %d", len(r.Descriptors), MaxDescriptors)
	}
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		if d.Hits > MaxHits {
			return invalid("the hits_addend of descriptor %d is %d; the most is %d", i, d.Hits, int64(MaxHits))
		}
		if d.Override != nil && !d.Override.Unit.IsValid() {
			return invalid("the limit of descriptor %d has no unit; it must be one of %s", i, unitWords())
		}
	}
	return nil
}

// rulesOf finds the rule of each descriptor. It is nil if there is none, or if the rule of another descriptor replaces
// it.
func (r *Rules) rulesOf(req *Request) []match {
	found := make([]match, len(req.Descriptors))
	d := r.domains[req.Domain]
	replaced := map[string]bool(nil)
	for i := range req.Descriptors {
		asked := &req.Descriptors[i]
		if asked.Override != nil {
			found[i].rule = asked.Override.rule()
			continue
		}
		if d != nil {
			found[i] = d.match(asked.Entries)
		}
		if found[i].rule == nil {
			continue
		}
		for _, name := range found[i].rule.Replaces {
			if replaced == nil {
				replaced = map[string]bool{}
			}
			replaced[name] = true
		}
	}
	for i := range found {
		if rule := found[i].rule; rule != nil && !rule.Unlimited && replaced[rule.Name] {
			found[i].rule = nil
		}
	}
	return found
}

func (o *Override) rule() *Rule {
	rule := &Rule{Requests: o.Requests, Unit: o.Unit}
	_ = rule.setLimit() // it cannot fail: every number of requests and every unit is valid
	return rule
}

// Plan is a request with the commands that decide it.
type Plan struct {
	Commands []command.Words // their replies go to Answer, in this order
	request  *Request
	matches  []match
	asks     []ask
	now      time.Time
}

// ask is one command: RL.ALL with the limits of one or several descriptors, or another command for one descriptor.
type ask struct {
	kind        askKind
	descriptors []int // positions in the request
}

type askKind uint8

const (
	askOne    askKind = iota // FW.ACQUIRE
	askAll                   // RL.ALL
	askPolicy                // RL.CHECK
)

// Plan finds the rules of a request and writes the commands that decide it, none if there is no limit to ask.
func (r *Rules) Plan(req *Request, now time.Time) (*Plan, error) {
	p, err := r.plan(req, now)
	if err == nil {
		p.writeCommands()
	}
	return p, err
}

// plan finds the rules of a request.
func (r *Rules) plan(req *Request, now time.Time) (*Plan, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	return &Plan{request: req, matches: r.rulesOf(req), now: now}, nil
}
