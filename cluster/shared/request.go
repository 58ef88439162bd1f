package shared

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/loans"
)

// request is a request for several limits. It implements [loans.Request].
type request struct {
	limits *Limits
	op     engine.Op   // a copy
	parts  []engine.Op // the limits that it asks, as far as this node knows the policy
	at     int         // the group that decides it; 0 if no shared limit is of another group
	until  time.Time   // it waits for tokens no longer
	part   int         // the limit whose tokens it waits for
	waits  time.Time   // when it began to wait for them
	tries  int         // how often it has waited
	res    *engine.Result
	done   func() // called once the result is there, if it was not there at once
}

// gather finds the group of a request, and its limits.
func (r *request) gather(op *engine.Op) {
	r.op = op.Clone()
	r.op.Options &^= engine.FromPurses
	r.parts = r.limits.opt.Policies.Asked(&r.op)
	at, ok := r.limits.opt.Router.Gather(r.parts)
	if ok {
		r.at = at
		r.op.Options |= engine.FromPurses
	}
}

// settle takes the result of a request. It returns false if the request has to wait.
func (r *request) settle() (finished bool) {
	switch {
	case r.at == 0 && r.res.Status == engine.CrossSlot && r.op.Verb == engine.Check:
		// the policy was set a moment ago, and the router has waited until this node knows it
		if r.gather(&r.op); r.at == 0 {
			return true
		}
		return !r.limits.keeper.Go(func() {
			*r.res = r.limits.do(r.at, r.op)[0]
			if r.settle() {
				r.done()
			}
		})
	case r.at == 0:
		return true
	}
	if r.tries == 0 {
		r.limits.counts.requests.Add(1)
	}
	if part := r.short(); part >= 0 {
		return r.wait(part)
	}
	r.complete()
	return true
}

// hasParts reports whether the result has the part of each limit.
func (r *request) hasParts() bool {
	return r.res.Status == engine.OK && len(r.res.Parts) == len(r.parts)
}

// isAway reports whether the tokens of a part are in a purse.
func (r *request) isAway(part int) bool { return r.limits.opt.Router.Home(r.parts[part].Key) != r.at }

// short returns the part of a denied request whose purse has too few tokens, below 0 if there is none. A purse states
// no wait, so any other limit that denies is the binding one.
func (r *request) short() (part int) {
	part = r.res.Binding
	if !r.hasParts() || part < 0 || part >= len(r.parts) || !r.isAway(part) {
		return -1
	}
	return part
}

// wait makes a request wait for tokens of a part, or denies it.
func (r *request) wait(part int) (finished bool) {
	p := &r.parts[part]
	key := r.limits.keeper.Key(r.at, p.Key)
	if key == nil {
		return r.fail(engine.Overloaded)
	}
	r.limits.counts.short.Add(1)
	now := time.Now()
	denied, holds := key.Denied(now, p.Limit, p.Tokens)
	switch {
	case p.Tokens > p.Limit.Capacity:
		return r.deny(key, part, engine.NeverWait)
	case holds, r.tries == maxTries: // others have taken the tokens each time
		return r.deny(key, part, denied.Wait(now, p.Tokens))
	case !now.Before(r.until):
		return r.fail(engine.NoLeader)
	}
	r.tries, r.waits, r.part = r.tries+1, now, part
	if status := key.Wait(now, p.Limit, r); status != engine.OK {
		return r.fail(status)
	}
	return false
}

// Op implements [loans.Request].
func (r *request) Op() engine.Op { return r.op }

// Tokens implements [loans.Request].
func (r *request) Tokens() int64 { return r.parts[r.part].Tokens }

// Until implements [loans.Request].
func (r *request) Until() time.Time { return r.until }

// Decided implements [loans.Request].
func (r *request) Decided(key *loans.Key, res *engine.Result, after *loans.Outcome) {
	*r.res = *res
	if r.settleAfter(key, after) {
		r.done()
	}
}

// Expired implements [loans.Request].
func (r *request) Expired() {
	r.fail(engine.NoLeader)
	r.done()
}

// settleAfter settles a request that was decided again after an operation on the loan of a key.
func (r *request) settleAfter(key *loans.Key, after *loans.Outcome) (finished bool) {
	part := r.short()
	if part < 0 || string(r.parts[part].Key) != key.Name() {
		return r.settle()
	}
	switch {
	case after.Refusal.Status == engine.Uncertain: // only the operation on the loan is
		return r.fail(engine.NoLeader)
	case after.Refusal.Status != engine.OK:
		r.fail(after.Refusal.Status)
		r.res.Held, r.res.Wanted = after.Refusal.Held, after.Refusal.Wanted
		return true
	case after.IsDry && !r.waits.After(after.Asked): // a later one may find tokens that have come home since
		now, p := time.Now(), &r.parts[part]
		denied, _ := key.Denied(now, p.Limit, p.Tokens)
		return r.deny(key, part, denied.Wait(now, p.Tokens))
	}
	return r.settle()
}

// complete adds to a decided request what home has left.
func (r *request) complete() {
	if !r.hasParts() {
		return
	}
	now := time.Now()
	charges := r.res.Binding < 0 && r.op.Options&engine.Peek == 0
	for i := range r.parts {
		if !r.isAway(i) {
			continue
		}
		p := &r.parts[i]
		key := r.limits.keeper.Key(r.at, p.Key)
		if key == nil {
			continue
		}
		if charges && p.Tokens > 0 {
			addHome(&r.res.Parts[i], p.Limit, key.Granted(now, p.Limit, p.Tokens, r.res.Parts[i].Remaining))
		} else {
			addHome(&r.res.Parts[i], p.Limit, key.AtHome())
		}
	}
}

// addHome adds what home has left to a part that a purse has decided.
func addHome(part *engine.Result, limit limits.Limit, at loans.AtHome) {
	part.Remaining = min(part.Remaining+max(0, at.Remaining), part.Limit)
	if part.Reset = at.Reset; limit.Rate.Tokens > 0 {
		part.Reset = limit.Rate.Refill(part.Limit - part.Remaining)
	}
}

// deny answers a request that home has no tokens for.
func (r *request) deny(key *loans.Key, part int, wait int64) (finished bool) {
	r.limits.counts.denied.Add(1)
	one := &r.res.Parts[part]
	addHome(one, r.parts[part].Limit, key.AtHome())
	if one.Wait = wait; !r.res.Allowed { // a policy in shadow delays nobody
		r.res.Wait = wait
	}
	return true
}

// fail answers a request by a status: nothing was taken.
func (r *request) fail(status engine.Status) (finished bool) {
	r.res.Clear()
	r.res.Status = status
	return true
}
