package loans

import (
	"time"

	"github.com/stintdb/stint/engine"
)

// A request with [engine.Else] takes from its included limits what they have, and the rest from a balance, so it is not
// denied if a purse has too few tokens. So that nobody pays for tokens that home has left, such a request first asks for
// the tokens that it may get from its purses, in a look that takes nothing and waits for a loan like any other request.

// itself is a request while its look is asked in its place.
type itself struct {
	asked  engine.Op
	limits []engine.Op
}

// LookFirst makes a request that divides its cost look at its purses first, and any other ask as it is. It is called
// once all fields are set, before Asked is decided.
func (r *Several) LookFirst() {
	look, isAny := engine.Op{Verb: engine.AcquireAll, Options: engine.Peek | r.Asked.Request().Options&engine.FromPurses}, false
	room := make([]engine.Op, len(r.Limits))
	for i := range r.Limits {
		p := &r.Limits[i]
		room[i] = engine.Op{Key: p.Key, Who: p.Who, Weight: p.Weight, Limit: p.Limit, Options: engine.FixedCost}
		if r.isAllowance(i) && p.Tokens > 0 {
			isAny = true
			room[i].Options, room[i].Tokens = 0, min(p.Tokens, p.Limit.Capacity)
			look.Tokens = max(look.Tokens, room[i].Tokens)
		}
	}
	if !isAny {
		return
	}
	r.itself = &itself{r.Asked, r.Limits}
	r.Limits = room
	look.Parts = room
	r.Asked = look.Clone()
	for i := range r.Asked.Parts {
		if p := &r.Asked.Parts[i]; r.Away.Has(i) && look.Options&engine.FromPurses == 0 {
			p.Limit, _ = r.Keeper.opt.InPurse(p.Limit)
		}
	}
}

// isAllowance reports whether a limit gives what it has in its purse, and a balance the rest.
func (r *Several) isAllowance(i int) bool {
	return r.Away.Has(i) && engine.HasElse(r.Limits) && r.Limits[i].IsIncluded()
}

// follow asks the request itself once its look was answered.
func (r *Several) follow() (finished bool) {
	if r.itself == nil || r.Result.Status != engine.OK {
		return true
	}
	r.Asked, r.Limits, r.itself, r.tries = r.itself.asked, r.itself.limits, nil, 0
	if r.Keeper.Go(func() {
		*r.Result = r.Keeper.opt.Purses(r.At, r.Asked)[0]
		if r.Settle() {
			r.Done()
		}
	}) {
		return false
	}
	return r.fail(r.Failed)
}

// waitForAllowance states the wait of a request that was denied although its purses and its balance gave what they have:
// until home can give what the balance lacks.
func (r *Several) waitForAllowance() {
	last := len(r.Limits) - 1
	if b := r.Result.Binding; r.Result.Allowed || b < 0 || !r.isAllowance(b) {
		return
	}
	now, lacks := time.Now(), r.Limits[last].Tokens-max(0, r.Result.Parts[last].Remaining)
	for i := range r.Limits {
		if !r.isAllowance(i) || r.Result.Parts[i].Remaining >= lacks {
			continue
		}
		wait := int64(engine.NeverWait)
		if key := r.Keeper.Key(r.At, r.Limits[i].Key); key != nil && lacks <= r.Limits[i].Limit.Capacity {
			denied, _ := key.Denied(now, r.Limits[i].Limit, lacks)
			spent := denied.Held - r.Result.Parts[i].Remaining // since home has answered
			wait = denied.Wait(now, lacks+spent)
		}
		if wait == engine.NeverWait {
			r.Result.Binding, r.Result.Wait = last, wait
			return
		}
		if wait > r.Result.Wait {
			r.Result.Binding, r.Result.Wait = i, wait
		}
	}
}
