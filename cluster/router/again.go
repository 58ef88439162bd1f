package router

import "github.com/stintdb/stint/engine"

// decideAgain decides checks that a group has refused because it does not own a key of the policy: another node may
// have set the policy a moment ago. If this node finds the same group again once it knows the policy, the policy's keys
// are in several groups. It returns true if it does nothing.
func (r *Router) decideAgain(b *engine.Batch, checks []check) (finished bool) {
	select {
	case r.again <- struct{}{}:
	default:
		return true // too many wait, so they keep their errors
	}
	go func() {
		defer b.Done()
		defer func() { <-r.again }()
		err := r.catchUp(r.ctx)
		for i := range checks {
			c, res := &checks[i], &b.Results[checks[i].at]
			if err != nil {
				res.Clear()
				res.Status = engine.NoLeader
			} else if at := r.Place(&c.op); at != c.place && at > 0 {
				r.decideOne(at, c.op, res)
			}
		}
	}()
	return false
}

// decideOne lets a group decide an operation, and waits for its result.
func (r *Router) decideOne(at int, op engine.Op, res *engine.Result) {
	done := make(chan struct{})
	one := engine.Batch{Ops: []engine.Op{op}, Results: make([]engine.Result, 1), Done: func() { close(done) }}
	if !(*r.groups.Load())[at].Decide(&one) {
		<-done
	}
	*res = one.Results[0]
}
