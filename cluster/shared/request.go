package shared

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/loans"
)

// request is a request for several limits. Its place is the group that decides it, 0 if no shared limit is of another
// group.
type request struct {
	loans.Several
	limits *Limits
}

// gather finds the group of a request, and its limits as far as this node knows the policy.
func (r *request) gather(op *engine.Op) {
	r.Asked = op.Clone()
	r.Asked.Options &^= engine.FromPurses
	r.Limits = r.limits.opt.Policies.Asked(&r.Asked)
	at, ok := r.limits.opt.Router.Gather(r.Limits)
	if !ok {
		return
	}
	r.At, r.Away = at, 0
	r.Asked.Options |= engine.FromPurses
	for i := range r.Limits {
		if r.limits.opt.Router.Home(r.Limits[i].Key) != at {
			r.Away.Add(i)
		}
	}
	r.LookFirst()
}

// settle takes the result of a request. It returns false if the request has to wait.
func (r *request) settle() (finished bool) {
	switch {
	case r.At == 0 && r.Result.Status == engine.CrossSlot && r.Asked.Verb == engine.Check:
		// the policy was set a moment ago, and the router has waited until this node knows it
		if r.gather(&r.Asked); r.At == 0 {
			return true
		}
		return !r.limits.keeper.Go(func() {
			*r.Result = r.limits.do(r.At, r.Asked)[0]
			if r.settle() {
				r.Done()
			}
		})
	case r.At == 0:
		return true
	}
	r.limits.requests.Add(1)
	return r.Settle()
}
