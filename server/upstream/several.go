package upstream

import (
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/loans"
)

// several is a request for several limits, some of them of keys of home. All of its tokens are taken here: it waits for
// a loan if a purse has too few, because home could not decide about the other limits.
type several struct {
	loans.Several
	u    *Upstream
	upTo int64 // an extension that is denied is asked again, for as many of these tokens as there are; 0 for one that is not
}

func (u *Upstream) newSeveral(op *engine.Op) *several {
	r := &several{u: u, Several: loans.Several{
		Keeper: u.keeper, At: here, Asked: op.Clone(), End: time.Now().Add(u.opt.Timeout), Failed: engine.NoHome,
	}}
	request := r.Asked.Request()
	if request.Verb == engine.Extend && request.Options&engine.UpTo != 0 {
		r.upTo, request.Options = request.Tokens, request.Options&^engine.UpTo
	}
	r.Limits = u.limitsOf(request)
	for i := range r.Limits {
		if p := &r.Limits[i]; u.ofHome(p.Key) {
			r.Away.Add(i)
			p.Limit.Algorithm = p.Limit.Algorithm.Base()
			isIncluded := engine.HasElse(r.Limits) && p.IsIncluded()
			if r.upTo > 0 && p.Tokens > 0 && !isIncluded { // home never lends more than the capacity
				request.Tokens = min(request.Tokens, p.Limit.Capacity)
			}
		}
	}
	for i := range r.Limits {
		if r.upTo > 0 {
			r.Limits[i].Tokens = min(r.Limits[i].Tokens, request.Tokens)
		}
	}
	if request.Verb == engine.Acquire {
		request.Limit, _ = inPurse(request.Limit)
	}
	for i := range request.Parts {
		if p := &request.Parts[i]; r.Away.Has(i) {
			p.Limit, _ = inPurse(p.Limit)
		}
	}
	r.LookFirst()
	return r
}

// limitsOf returns the limits that a request asks, with the tokens of each.
func (u *Upstream) limitsOf(request *engine.Op) []engine.Op {
	if request.Verb == engine.Acquire {
		return []engine.Op{*request}
	}
	all := slices.Clone(u.opt.Policies.Asked(request))
	if request.Verb != engine.Extend {
		return all
	}
	for i := range all {
		if p := &all[i]; p.Options&engine.FixedCost != 0 { // the request has paid it
			p.Tokens = 0
		} else {
			p.Tokens = request.Tokens
		}
	}
	return all
}

// policyInPurses returns the operation that keeps a policy with its limits of home as those of purses: so every replica
// knows them, and they stay when the settings change.
func (u *Upstream) policyInPurses(op *engine.Op) engine.Op {
	kept := op.Clone()
	for i := range kept.Parts {
		p := &kept.Parts[i]
		if always, _ := u.comesToHome(string(p.Key)); always {
			p.Limit, _ = inPurse(p.Limit)
		}
	}
	return kept
}

// settle takes the store's result. It returns false if the request waits: done is called later.
func (r *several) settle(res *engine.Result, done func()) (finished bool) {
	r.Result = res
	r.Done = func() { r.finish(done) }
	if !r.Settle() {
		return false
	}
	if r.isUpTo() {
		r.askUpTo()
		return false
	}
	r.count()
	return true
}

// finish answers the request.
func (r *several) finish(done func()) {
	if r.isUpTo() {
		r.askUpTo()
		return
	}
	r.count()
	done()
}

// isUpTo reports whether an extension was denied that takes fewer tokens, too.
func (r *several) isUpTo() bool {
	return r.upTo > 0 && r.Result.Status == engine.OK && !r.Result.Allowed
}

// askUpTo asks for as many tokens as there are, now that home has lent all that it has. If there is none, one would be
// enough.
func (r *several) askUpTo() {
	r.Asked.Tokens, r.upTo = r.upTo, 0
	r.Asked.Options |= engine.UpTo
	b := &engine.Batch{Ops: []engine.Op{r.Asked}, Results: make([]engine.Result, 1)}
	b.Done = func() {
		*r.Result = b.Results[0]
		for i := range r.Limits {
			r.Limits[i].Tokens = min(r.Limits[i].Tokens, max(1, r.Result.Granted))
		}
		if r.Settle() {
			r.Done()
		}
	}
	if r.u.opt.Decider.Decide(b) {
		b.Done()
	}
}

// count counts the answer. That to a reservation of one limit has what home has left, as its only part has.
func (r *several) count() {
	if res := r.Result; res.Status == engine.OK && r.Asked.Request().Verb == engine.Acquire && len(res.Parts) == 1 {
		res.Remaining, res.Reset = res.Parts[0].Remaining, res.Parts[0].Reset
	}
	switch c := &r.u.counts; {
	case r.Result.Status == engine.NoHome:
		c.failed.Add(1)
	case r.Result.Status == engine.OK && r.Result.Allowed:
		c.local.Add(1)
	}
}
