package shared

import (
	"time"

	"github.com/stintdb/stint/engine"
)

// request is a request for several limits.
type request struct {
	op    engine.Op   // a copy
	parts []engine.Op // the limits that it asks, as far as this node knows the policy
	at    int         // the group that decides it; 0 if no shared limit is of another group
	until time.Time   // it waits for tokens
	waits time.Time   // since then, the last time
	tries int
	res   *engine.Result
	done  func() // called once the result is there, if it was not there at once
}

// gather finds the group of a request, and its limits.
func (r *request) gather(l *Limits, op *engine.Op) {
	r.op = op.Clone()
	r.op.Options &^= engine.FromPurses
	r.parts = l.opt.Policies.Asked(&r.op)
	at, ok := l.opt.Router.Gather(r.parts)
	if ok {
		r.at = at
		r.op.Options |= engine.FromPurses
	}
}

// settle takes the result of a request. It returns false if the request has to wait.
func (l *Limits) settle(r *request) (finished bool) {
	res := r.res
	switch {
	case r.at == 0 && res.Status == engine.CrossSlot && r.op.Verb == engine.Check:
		// the policy was set a moment ago, and the router has waited until this node knows it
		if r.gather(l, &r.op); r.at == 0 {
			return true
		}
		return !l.begin(func() { l.decide(r.at, []*request{r}, l.settle) })
	case r.at == 0:
		return true
	}
	if r.tries == 0 {
		l.counts.requests.Add(1)
	}
	if part := l.short(r); part >= 0 {
		return l.wait(r, part)
	}
	l.complete(r)
	return true
}

// short is the part of a denied request whose purse has too few tokens, below 0 if there is none: a purse states no wait, so any other limit that
// denies is the binding one.
func (l *Limits) short(r *request) (part int) {
	if r.res.Status != engine.OK || len(r.res.Parts) != len(r.parts) || r.res.Binding < 0 || r.res.Binding >= len(r.parts) {
		return -1
	}
	if l.opt.Router.Home(r.parts[r.res.Binding].Key) == r.at {
		return -1
	}
	return r.res.Binding
}

// decide has a group decide requests again, and calls settle for each, which returns false if it has to wait.
func (l *Limits) decide(at int, requests []*request, settle func(r *request) (finished bool)) {
	ops := make([]engine.Op, len(requests))
	for i, r := range requests {
		ops[i] = r.op
	}
	for i, res := range l.do(at, ops...) {
		r := requests[i]
		if *r.res = res; settle(r) {
			r.done()
		}
	}
}

// do has a group carry out operations, the one with their keys if at is 0, and waits for it.
func (l *Limits) do(at int, ops ...engine.Op) []engine.Result {
	b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops))}
	done := make(chan struct{})
	b.Done = func() { close(done) }
	finished := false
	if at == 0 {
		finished = l.opt.Router.Decide(b)
	} else {
		finished = l.opt.Router.DecideIn(at, b)
	}
	if !finished {
		<-done
	}
	return b.Results
}

// complete adds to a decided request what home has left, and has more tokens lent before the purses are empty.
func (l *Limits) complete(r *request) {
	if r.res.Status != engine.OK || len(r.res.Parts) != len(r.parts) {
		return
	}
	now := time.Now()
	for i := range r.parts {
		p, res := &r.parts[i], &r.res.Parts[i]
		if l.opt.Router.Home(p.Key) == r.at {
			continue
		}
		left := res.Remaining
		k := l.keyOf(r.at, p.Key)
		if k == nil {
			continue
		}
		k.mu.Lock()
		res.Remaining = min(left+k.remaining, res.Limit)
		if res.Reset = k.reset; p.Limit.Rate.Tokens > 0 {
			res.Reset = p.Limit.Rate.Refill(res.Limit - res.Remaining)
		}
		if r.res.Binding < 0 && r.op.Options&engine.Peek == 0 && p.Tokens > 0 {
			k.limit = p.Limit
			k.use(now, p.Tokens, left)
			if now.After(k.denied.until) && l.needsMore(k, left) {
				l.exchange(k, false)
			}
		}
		k.mu.Unlock()
	}
}

// fail answers a request by a status: nothing was taken.
func (r *request) fail(status engine.Status) {
	r.res.Clear()
	r.res.Status = status
}
