package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/policyset"
)

// effectsShown bounds the policies whose effect is looked up for one request.
const effectsShown = 20

func (a *Admin) policyFile(_ context.Context, s *server.Server, _ *http.Request) (any, error) {
	set, err := policyset.Of(s)
	if err != nil {
		return nil, userError{err.Error()}
	}
	return policyset.Present{Version: set.Version(), Policies: set}, nil
}

func (a *Admin) setPolicyFile(ctx context.Context, s *server.Server, r *http.Request) (any, error) {
	var q policyset.Request
	if err := readJSON(r, &q, "policies, prune, apply and version"); err != nil {
		return nil, err
	}
	if !q.Apply {
		have, err := policyset.Of(s)
		if err != nil {
			return nil, userError{err.Error()}
		}
		changes, err := policyset.Compare(s, have, q.Policies, q.Prune)
		if err != nil {
			return nil, userError{err.Error()}
		}
		v := &policyset.Reply{Version: have.Version(), Changes: []policyset.Shown{}}
		return v, a.addEffects(ctx, s, v, changes)
	}
	have, changes, err := policyset.Apply(ctx, s, r.RemoteAddr, q.Policies, q.Prune, q.Version)
	switch {
	case err == nil:
	case errors.Is(err, policyset.ErrChanged), errors.As(err, new(server.ErrReply)), ctx.Err() == nil:
		return nil, userError{err.Error()}
	default:
		return nil, err
	}
	v := &policyset.Reply{Version: have.Version(), Changes: []policyset.Shown{}}
	for _, c := range changes {
		v.Changes = append(v.Changes, policyset.Shown{Change: c})
	}
	a.notePolicies(r, changes)
	return v, nil
}

// notePolicies logs changes, and forgets what was shown of the policies before them.
func (a *Admin) notePolicies(r *http.Request, changes []policyset.Change) {
	if len(changes) == 0 {
		return
	}
	a.log.Info("policies were set from a file", "changes", len(changes), "first", changes[0].Policy, "from", r.RemoteAddr)
	a.fills.mu.Lock()
	a.fills.last = nil
	a.fills.mu.Unlock()
}

// addEffects adds changes, with the effects of the first ones on the present callers and the recorded requests.
func (a *Admin) addEffects(ctx context.Context, s *server.Server, v *policyset.Reply, changes []policyset.Change) error {
	looked := 0
	for _, c := range changes {
		change := policyset.Shown{Change: c}
		if c.ID == "" && c.After != nil && looked < effectsShown {
			looked++
			d := &draft{Name: c.Policy, Limits: strings.Join(c.After.Limits, "\n")}
			limits, err := d.limits(s)
			if err != nil {
				return err
			}
			e, err := a.effectOf(ctx, s, d, limits)
			if err != nil {
				return err
			}
			change.Effect = e.inShort()
		}
		v.Changes = append(v.Changes, change)
	}
	return nil
}

// inShort adds up the effect on all limits.
func (e *effect) inShort() *policyset.Effect {
	short := &policyset.Effect{}
	for i := range e.Limits {
		l := &e.Limits[i]
		short.Callers = max(short.Callers, l.Callers)
		short.DeniedNow += l.DeniedNow
		short.DeniedThen += l.DeniedThen
		short.WrongType += l.WrongType
	}
	if r := e.Replay; r != nil && r.Then != nil {
		short.Replay = &policyset.Replay{WithinMs: r.WithinMs, OneIn: r.OneIn, Requests: r.Requests, Denied: r.Happened.Denied, Then: r.Then.Denied}
	}
	return short
}
