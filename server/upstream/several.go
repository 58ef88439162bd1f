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
	u *Upstream
}

func (u *Upstream) newSeveral(op *engine.Op) *several {
	r := &several{u: u, Several: loans.Several{
		Keeper: u.keeper, At: here, Asked: op.Clone(), End: time.Now().Add(u.opt.Timeout), Failed: engine.NoHome,
	}}
	r.Limits = slices.Clone(u.opt.Policies.Asked(&r.Asked))
	for i := range r.Limits {
		if p := &r.Limits[i]; u.ofHome(p.Key) {
			r.Away.Add(i)
			p.Limit.Algorithm = p.Limit.Algorithm.Base()
		}
	}
	for i := range r.Asked.Parts {
		if p := &r.Asked.Parts[i]; r.Away.Has(i) {
			p.Limit, _ = inPurse(p.Limit)
		}
	}
	return r
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
	r.Done = func() {
		r.count()
		done()
	}
	if finished = r.Settle(); finished {
		r.count()
	}
	return finished
}

// count counts the answer.
func (r *several) count() {
	switch c := &r.u.counts; {
	case r.Result.Status == engine.NoHome:
		c.failed.Add(1)
	case r.Result.Status == engine.OK && r.Result.Allowed:
		c.local.Add(1)
	}
}
