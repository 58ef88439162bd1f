package admin

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/admin/callers"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
	"github.com/stintdb/stint/server/policyset"
)

// draft is a policy that an operator is writing: limits as RL.POLICY SET takes them, with line breaks anywhere.
type draft struct {
	Name   string `json:"name"`
	Limits string `json:"limits"`
	Shadow bool   `json:"shadow"`
	Strict bool   `json:"strict"`
	Of     string `json:"of"` // the policy whose recent requests a preview replays, "" for the draft's own policy

	Version string `json:"version"` // the version that the draft replaces, from a preview; "" for any
	Remove  bool   `json:"remove"`  // remove the policy, which undoes its creation
}

// versionOf returns a text that changes with the limits and options of a policy.
func versionOf(p *policy.Policy, known bool) string {
	if !known {
		return "none"
	}
	return policyset.RuleOf(p).Version()
}

func readDraft(r *http.Request) (d draft, err error) {
	if err = readJSON(r, &d, "name, limits, shadow, strict, of, version and remove"); err != nil {
		return d, err
	}
	if strings.ContainsRune(d.Name+d.Limits+d.Of, utf8.RuneError) { // stands for bytes that are not UTF-8
		return d, userError{"the request must be in UTF-8, without halves of surrogate pairs"}
	}
	return d, nil
}

// words returns the draft as a command, without SHADOW and STRICT.
func (d *draft) words() ([]string, error) { return limitWords(d.Limits, "RL.POLICY", "SET", d.Name) }

// limitWords appends limits to the words of a command.
func limitWords(limits string, words ...string) ([]string, error) {
	words, err := policyset.Words(limits, words...)
	if err != nil {
		return nil, userError{err.Error()}
	}
	return words, nil
}

// limits parses the draft's limits. Errors are the same as for a client.
func (d *draft) limits(s *server.Server) ([]engine.Op, error) {
	words, err := d.words()
	if err != nil {
		return nil, err
	}
	op, err := parsed(s, words)
	if err != nil {
		return nil, err
	}
	if op.Options&(engine.Shadow|engine.Strict) != 0 {
		return nil, userError{"limits: SHADOW and STRICT are not limits: set them by their boxes"}
	}
	return op.Parts, nil
}

// parsed returns the operation of a command. Errors are the same as for a client.
func parsed(s *server.Server, words []string) (*engine.Op, error) {
	op, err := policyset.Parse(s, words)
	if err != nil {
		return nil, userError{err.Error()}
	}
	return op, nil
}

// The limits of a preview.
const (
	previewScan     = 50_000 // keys looked through
	previewCallers  = 1_000  // callers of each limit
	previewExamples = 10
)

// effect is what a draft would change for the current callers.
type effect struct {
	Looked int  `json:"looked"` // how many of Keys were looked through
	Keys   int  `json:"keys"`
	New    bool `json:"new"` // there is no policy of this name

	Version string   `json:"version"` // of the present policy
	Removed []string `json:"removed"` // its limits on keys for which the draft has no limit

	Limits []limitEffect `json:"limits"`
	Replay *replayed     `json:"replay"` // null if no request is recorded
}

type limitEffect struct {
	Spec       string    `json:"spec"`
	Before     string    `json:"before"` // the present limit for the same keys, "" if there is none
	Callers    int       `json:"callers"`
	DeniedNow  int       `json:"deniedNow"`  // callers whose next request for a token would be denied by the present policy
	DeniedThen int       `json:"deniedThen"` // the same with the draft
	WrongType  int       `json:"wrongType"`  // callers whose key has another algorithm, so they would get errors until it expires
	Examples   []example `json:"examples"`
}

// example is a caller for whom the draft makes a difference.
type example struct {
	Key           string `json:"key"`
	NowAllowed    bool   `json:"nowAllowed"`
	ThenAllowed   bool   `json:"thenAllowed"`
	NowRemaining  int64  `json:"nowRemaining"`
	ThenRemaining int64  `json:"thenRemaining"`
	WaitMs        int64  `json:"waitMs"` // until the draft would grant a token; -1 for never
}

func (a *Admin) preview(ctx context.Context, s *server.Server, r *http.Request) (any, error) {
	d, err := readDraft(r)
	if err != nil {
		return nil, err
	}
	limits, err := d.limits(s)
	if err != nil {
		return nil, err
	}
	return a.effectOf(ctx, s, &d, limits)
}

// effectOf returns what a draft with these limits would change.
func (a *Admin) effectOf(ctx context.Context, s *server.Server, d *draft, limits []engine.Op) (*effect, error) {
	old, known := s.Keys().Policy(d.Name)
	apart := callers.Overridden(&old)
	found, looked := callers.Find(s, limits, previewScan, previewCallers)
	e := &effect{Looked: looked, Keys: s.Keys().Len(), New: !known, Version: versionOf(&old, known), Removed: removed(old.Parts, limits)}
	for i := range limits {
		here := slices.DeleteFunc(found[i], func(c callers.Caller) bool { return apart[string(c.ID)] })
		l, err := limitChange(ctx, s, old, limits, i, here)
		if err != nil {
			return nil, err
		}
		e.Limits = append(e.Limits, l)
	}
	var err error
	e.Replay, err = a.replay(s, cmp.Or(d.Of, d.Name), limits)
	if err == nil && e.Replay != nil && e.Replay.Of == d.Name && e.Replay.Unsent != "" {
		err = userError{fmt.Sprintf("limits: none of the last %d requests on %s has the field %s, so each would be an error; send it first", e.Replay.LeftOut+e.Replay.Requests, d.Name, e.Replay.Unsent)}
	}
	return e, err
}

// removed returns the limits of a policy on keys for which a draft has no limit.
func removed(before, draft []engine.Op) []string {
	gone := []string{}
	for _, old := range before {
		if !slices.ContainsFunc(draft, func(p engine.Op) bool { return bytes.Equal(p.Key, old.Key) }) {
			gone = append(gone, limiter.SpecText(old))
		}
	}
	return gone
}

// limitChange asks for a token on behalf of every caller, both the present limit on the same keys and limit i of the
// draft.
func limitChange(ctx context.Context, s *server.Server, old policy.Policy, limits []engine.Op, i int, found []callers.Caller) (limitEffect, error) {
	limit := limits[i]
	l := limitEffect{Spec: limiter.SpecText(limit), Callers: len(found), Examples: []example{}}
	then, err := callers.Peek(ctx, s, limits, i, found, 1)
	if err != nil {
		return l, err
	}
	now := make([]engine.Result, len(found))
	for i := range now {
		now[i].Allowed = true // there is no limit
	}
	at := slices.IndexFunc(old.Parts, func(p engine.Op) bool { return string(p.Key) == string(limit.Key) })
	if at >= 0 {
		l.Before = limiter.SpecText(old.Parts[at])
		if now, err = callers.Peek(ctx, s, old.Parts, at, found, 1); err != nil {
			return l, err
		}
	}
	for i := range found {
		if !now[i].Allowed {
			l.DeniedNow++
		}
		if then[i].Status == engine.WrongType {
			l.WrongType++
		}
		if !then[i].Allowed {
			l.DeniedThen++
		}
		if now[i].Allowed != then[i].Allowed {
			l.Examples = append(l.Examples, example{Key: shown(s, found[i].Key), NowAllowed: now[i].Allowed, ThenAllowed: then[i].Allowed,
				NowRemaining: now[i].Remaining, ThenRemaining: then[i].Remaining, WaitMs: command.Millis(then[i].Wait)})
		}
	}
	slices.SortFunc(l.Examples, func(a, b example) int { return cmp.Or(cmp.Compare(b.WaitMs, a.WaitMs), cmp.Compare(a.Key, b.Key)) })
	l.Examples = l.Examples[:min(len(l.Examples), previewExamples)]
	return l, nil
}

// applied is the reply after a draft was applied.
type applied struct {
	Version string `json:"version"`          // of the new policy
	Before  *draft `json:"before,omitempty"` // the old policy, to undo the change
}

// command returns the command that applies a draft, and the limits of the new policy.
func (d *draft) command(s *server.Server) (words []string, limits []engine.Op, err error) {
	if d.Remove {
		if d.Limits != "" || d.Shadow || d.Strict {
			return nil, nil, userError{"remove: leave out limits, shadow and strict when you remove a policy"}
		}
		return []string{"RL.POLICY", "DEL", d.Name}, nil, nil
	}
	if limits, err = d.limits(s); err != nil {
		return nil, nil, err
	}
	words, err = d.words()
	if d.Shadow {
		words = append(words, "SHADOW")
	}
	if d.Strict {
		words = append(words, "STRICT")
	}
	return words, limits, err
}

// setPolicy applies a draft.
func (a *Admin) setPolicy(ctx context.Context, s *server.Server, r *http.Request) (any, error) {
	d, err := readDraft(r)
	if err != nil {
		return nil, err
	}
	words, limits, err := d.command(s)
	if err != nil {
		return nil, err
	}
	var before policy.Policy
	known := false
	if _, err = policyset.Update(ctx, s, r.RemoteAddr, func() ([][]string, error) {
		before, known = s.Keys().Policy(d.Name)
		if d.Version != "" && d.Version != versionOf(&before, known) {
			return nil, userError{"somebody else has changed this policy since its effect was shown: check its effect again"}
		}
		if d.Remove && before.Overridden > 0 {
			return nil, userError{fmt.Sprintf("%s has overrides by now, %d of them, which would be lost with it: to remove it all the same, send RL.POLICY DEL %s", d.Name, before.Overridden, d.Name)}
		}
		return [][]string{words}, nil
	}); err != nil {
		return nil, err
	}
	a.log.Info("a policy was set on the dashboard", "policy", d.Name, "shadow", d.Shadow, "removed", d.Remove, "from", r.RemoteAddr)
	a.fills.mu.Lock()
	a.fills.last = nil
	a.fills.mu.Unlock()
	now := versionOf(&policy.Policy{Parts: limits, Shadow: d.Shadow, Strict: d.Strict}, !d.Remove)
	return applied{now, draftOf(d.Name, &before, known, now)}, nil
}

// draftOf returns a draft of an old policy that replaces the present version.
func draftOf(name string, p *policy.Policy, known bool, now string) *draft {
	d := &draft{Name: name, Shadow: p.Shadow, Strict: p.Strict, Version: now, Remove: !known}
	for _, part := range p.Parts {
		d.Limits += limiter.SpecText(part) + "\n"
	}
	return d
}
