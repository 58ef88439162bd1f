package rls

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/resp"
)

// Answer is the answer to a request.
type Answer struct {
	OverLimit bool
	Statuses  []Status
	Nearest   int   // the position of the status that is nearest to its limit, or over it; -1 if none has a limit
	Wait      int64 // seconds until a denied request would be granted; 0 if unknown or never
	Failure   error // why some descriptors of a denied request were not decided; nil if all were
}

// Status is the answer about one descriptor.
type Status struct {
	OverLimit bool
	Limit     *Limit // nil if none applies
	Remaining uint32
	Reset     int64 // seconds until the limit is full again, rounded up; 0 if none applies
	Wait      int64 // seconds until a denied request would be granted, rounded up; 0 if unknown
	Warns     bool  // the use of one of a policy's limits has reached its threshold
}

// Limit is a limit as the answer shows it.
type Limit struct {
	Name     string
	Requests uint32
	Unit     Unit  // NoUnit for a policy
	Window   int64 // seconds of a fixed window, 0 for other algorithms
}

// Never is the Reset, in seconds, of a request that will never be granted: ten years, the longest duration of a limit.
// The protocol cannot express it, and clients take a missing reset for 0.
const Never = limits.MaxDuration / int64(time.Second)

// level is a command's report about one limit.
type level struct {
	granted                   bool
	limit, remaining, resetMs int64
	waitMs                    int64 // of a denied request
	never                     bool  // the request will never be granted
	warns                     bool
}

// Answer makes the answer from the replies to the commands. A command that failed decides nothing about its descriptors.
// The request is denied if another descriptor is, and otherwise the failure is the answer.
func (p *Plan) Answer(replies []redcon.RESP) (*Answer, error) {
	a := &Answer{Statuses: make([]Status, len(p.matches)), Nearest: -1}
	for i := range p.matches {
		p.preset(i, &a.Statuses[i])
	}
	if len(replies) < len(p.asks) {
		return nil, p.failure(replies)
	}
	for n := range p.asks {
		if err := p.read(&p.asks[n], replies[n], a); err != nil {
			a.Failure = cmp.Or(a.Failure, err)
			for _, i := range p.asks[n].descriptors {
				a.Statuses[i] = Status{}
			}
		}
	}
	if p.sum(a); a.Failure != nil && !a.OverLimit {
		return nil, a.Failure
	}
	return a, nil
}

// ErrorReply is the error of a command.
type ErrorReply string

// Error implements error.
func (e ErrorReply) Error() string { return string(e) }

// Unwrap makes it an [ErrReply].
func (e ErrorReply) Unwrap() error { return ErrReply }

func (p *Plan) failure(replies []redcon.RESP) error {
	if len(replies) == 0 {
		return fmt.Errorf("%w: no reply", ErrReply)
	}
	return ErrorReply(replies[0].Data)
}

// preset writes the part of a status that needs no command.
func (p *Plan) preset(i int, s *Status) {
	rule := p.matches[i].rule
	switch {
	case rule == nil:
	case rule.Unlimited:
		s.Remaining = math.MaxUint32
		rule.counts.add(false, false)
	case p.matches[i].namesNobody(p.request.Descriptors[i].Entries):
		s.Limit, s.OverLimit, s.Reset = &Limit{Name: rule.Policy}, !rule.Shadow, Never
		rule.counts.add(true, rule.Shadow)
	default:
		s.Limit = &Limit{Name: rule.Name, Requests: rule.Requests, Unit: rule.Unit}
		if rule.Policy == "" && (rule.Algorithm == limits.NoAlgorithm || rule.Algorithm == limits.FixedWindow) {
			s.Limit.Window = units[rule.Unit].seconds
		}
		if rule.Policy == "" && rule.Requests == 0 {
			s.OverLimit = !rule.Shadow
			rule.counts.add(true, rule.Shadow)
			s.Reset = rule.Unit.untilEnd(p.now)
		}
	}
}

// read writes a reply into the statuses of its descriptors.
func (p *Plan) read(of *ask, reply redcon.RESP, a *Answer) error {
	if reply.Type == redcon.Error {
		return ErrorReply(reply.Data)
	}
	words := resp.Elements(reply)
	if of.kind == askOne {
		if len(words) != 5 {
			return ErrorReply(reply.Data)
		}
		p.set(of.descriptors[0], level{granted: words[0].Int() > 0, limit: words[1].Int(), remaining: words[2].Int(), waitMs: words[3].Int(), resetMs: words[4].Int()}, a)
		return nil
	}
	if len(words) != 4 {
		return ErrorReply(reply.Data)
	}
	granted, list := words[0].Int() > 0, resp.Elements(words[3])
	if of.kind == askPolicy {
		l := lowest(list, granted)
		l.waitMs, l.never = words[2].Int(), words[2].Int() < 0
		if granted && p.request.Descriptors[of.descriptors[0]].Hits == 0 {
			l.remaining++ // PEEK reports what would remain after taking the one token that was asked for
		}
		p.set(of.descriptors[0], l, a)
		return nil
	}
	for n, i := range of.descriptors {
		if n == len(list) {
			return ErrorReply(reply.Data)
		}
		l := levelOf(list[n])
		hits := int64(p.request.Descriptors[i].Hits)
		l.granted, l.waitMs, l.never = granted || l.remaining >= hits, words[2].Int(), hits > l.limit
		p.set(i, l, a)
	}
	return nil
}

// set writes a descriptor's status.
func (p *Plan) set(i int, l level, a *Answer) {
	s, rule, hits := &a.Statuses[i], p.matches[i].rule, p.request.Descriptors[i].Hits
	over := !l.granted || l.remaining < 0 || (hits == 0 && l.remaining <= 0)
	s.OverLimit = over && !rule.Shadow
	rule.counts.add(over, rule.Shadow)
	if !over {
		s.Remaining = uint32(min(max(l.remaining, 0), math.MaxUint32))
	}
	if s.Reset = (max(l.resetMs, 0) + 999) / 1000; over && l.never {
		s.Reset = Never
	} else if over {
		s.Wait = (max(l.waitMs, 0) + 999) / 1000
	}
	if rule.Algorithm == limits.NoAlgorithm && rule.Policy == "" && s.Reset == 0 {
		s.Reset = rule.Unit.untilEnd(p.now) // nothing is counted, but the window ends
	}
	if rule.Policy != "" {
		s.Limit.Name, s.Limit.Requests, s.Warns = rule.Policy, uint32(min(l.limit, math.MaxUint32)), l.warns
	}
}

// lowest returns the level of the policy's limit with the smallest part left. It warns if any limit does.
func lowest(all []redcon.RESP, granted bool) level {
	var least level
	warns := false
	for n, one := range all {
		l := levelOf(one)
		if n == 0 || float64(l.remaining)*float64(least.limit) < float64(least.remaining)*float64(l.limit) {
			least = l
		}
		warns = warns || l.warns
	}
	least.granted, least.warns = granted, warns
	return least
}

func levelOf(reply redcon.RESP) (l level) {
	words := resp.Elements(reply)
	if len(words) < 3 {
		return l
	}
	l.limit, l.remaining, l.resetMs = words[0].Int(), words[1].Int(), words[2].Int()
	l.warns = len(words) == 4 && words[3].Int() == 1
	return l
}

// sum finds whether the request as a whole is denied, how long it would wait, and which limit to show.
func (p *Plan) sum(a *Answer) {
	quotas, used := 0, 0
	first, never := int64(0), false // the shortest wait of a quota; whether another limit never grants
	for i := range a.Statuses {
		s, rule := &a.Statuses[i], p.matches[i].rule
		wait := s.untilGranted()
		switch {
		case rule != nil && rule.Quota:
			quotas++
			if s.OverLimit {
				used++
			}
			if first == 0 || wait > 0 && wait < first {
				first = wait
			}
		case s.OverLimit:
			a.OverLimit = true
			a.Wait, never = max(a.Wait, wait), never || wait == 0
		}
		if s.Limit != nil && (a.Nearest < 0 || s.before(&a.Statuses[a.Nearest])) {
			a.Nearest = i
		}
	}
	if quotas > 0 && used == quotas {
		a.OverLimit = true
		a.Wait, never = max(a.Wait, first), never || first == 0
	}
	if never {
		a.Wait = 0
	}
}

// untilGranted is the number of seconds until a limit that denies would grant, 0 if unknown or never.
func (s *Status) untilGranted() int64 {
	switch {
	case !s.OverLimit:
		return 0
	case s.Wait == 0 && s.Limit.Window > 0 && s.Limit.Requests > 0 && s.Reset < Never: // the request only asked whether the limit is used up
		return s.Reset
	}
	return s.Wait
}

// before reports whether s is nearer to its limit.
func (s *Status) before(other *Status) bool {
	if s.OverLimit != other.OverLimit {
		return s.OverLimit
	}
	return s.Remaining < other.Remaining
}
