package loans

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// maxTries bounds how often a request for several limits waits, because others may take the tokens that it waits for.
const maxTries = 16

// Several is a request for several limits at once: all of them give tokens, or none does. The tokens of some limits are
// in purses, and the place of these purses decides the request in one operation. If a purse has too few tokens, the
// request waits for a loan and is decided again. It implements [Request].
type Several struct {
	Keeper *Keeper
	At     int            // the place that decides the request
	Asked  engine.Op      // the operation as the place takes it, in memory of its own
	Limits []engine.Op    // the limits that it asks, each with its key, its tokens, and its limit as home has it
	Away   engine.PartSet // the limits whose tokens are in purses
	End    time.Time      // the request waits no longer than until then
	Failed engine.Status  // the answer if home cannot be asked in time
	Result *engine.Result
	Done   func() // called once the result is there, unless Settle has returned true

	itself *itself // while its look is asked; nil for other requests

	part  int       // the limit whose tokens it waits for
	waits time.Time // when it began to wait for them
	tries int       // how often it has waited
}

// Settle takes the result of the operation. It returns false if the request has to wait.
func (r *Several) Settle() (finished bool) { return r.settle() && r.follow() }

func (r *Several) settle() (finished bool) {
	if part := r.short(); part >= 0 {
		return r.wait(part)
	}
	r.complete()
	return true
}

// hasParts reports whether the result has the part of each limit.
func (r *Several) hasParts() bool {
	return r.Result.Status == engine.OK && len(r.Result.Parts) == len(r.Limits)
}

// short returns the part of a denied request whose purse has too few tokens, below 0 if there is none. A purse states
// no wait, so any other limit that denies is the binding one, unless the purse can never have as many tokens.
func (r *Several) short() (part int) {
	part = r.Result.Binding
	if !r.hasParts() || part < 0 || part >= len(r.Limits) {
		return -1
	}
	for i := range r.Limits {
		if p := &r.Limits[i]; r.Away.Has(i) && p.Tokens > p.Limit.Capacity && !r.isAllowance(i) {
			r.Result.Binding = i
			return i
		}
	}
	if !r.Away.Has(part) || r.isAllowance(part) {
		return -1
	}
	return part
}

// wait makes a request wait for tokens of a part, or denies it.
func (r *Several) wait(part int) (finished bool) {
	p := &r.Limits[part]
	key := r.Keeper.Key(r.At, p.Key)
	if key == nil {
		return r.fail(engine.Overloaded)
	}
	r.Keeper.counts.short.Add(1)
	now := time.Now()
	denied, holds := key.Denied(now, p.Limit, p.Tokens, r.isDemand(part)) // one that waits since home was asked may find tokens that have come home
	switch {
	case p.Tokens > p.Limit.Capacity:
		return r.deny(part, engine.NeverWait)
	case r.tries == maxTries && denied.Limit != p.Limit: // home has not denied it, so no wait is known
		return r.fail(r.Failed)
	case holds && (r.tries == 0 || !r.waits.After(denied.asked)), r.tries == maxTries: // others have taken the tokens each time
		return r.deny(part, denied.Wait(now, p.Tokens, r.Result.Parts[part].Remaining))
	case !now.Before(r.End):
		return r.fail(r.Failed)
	}
	r.tries, r.waits, r.part = r.tries+1, now, part
	if status := key.Wait(now, p.Limit, r); status != engine.OK {
		return r.fail(status)
	}
	return false
}

// Op implements [Request].
func (r *Several) Op() engine.Op { return r.Asked }

// Tokens implements [Request].
func (r *Several) Tokens() int64 { return r.Limits[r.part].Tokens }

// NeedsLoan implements [Request].
func (r *Several) NeedsLoan() bool { return true }

// Until implements [Request].
func (r *Several) Until() time.Time { return r.End }

// Decided implements [Request].
func (r *Several) Decided(key *Key, res *engine.Result, after *Outcome) {
	*r.Result = *res
	if r.settleAfter(key, after) && r.follow() {
		r.Done()
	}
}

// Expired implements [Request].
func (r *Several) Expired() {
	if r.fail(r.Failed); r.follow() {
		r.Done()
	}
}

// settleAfter settles a request that was decided again after an operation on the loan of a key.
func (r *Several) settleAfter(key *Key, after *Outcome) (finished bool) {
	part := r.short()
	if part < 0 || string(r.Limits[part].Key) != key.Name() {
		return r.settle()
	}
	switch {
	case after.Refusal.Status == engine.Uncertain, after.Refusal.Status == Refused: // only the operation on the loan is
		return r.fail(r.Failed)
	case after.Refusal.Status != engine.OK:
		r.fail(after.Refusal.Status)
		r.Result.Held, r.Result.Wanted = after.Refusal.Held, after.Refusal.Wanted
		return true
	case after.IsDry && !r.waits.After(after.Asked): // a later one may find tokens that have come home since
		r.Keeper.counts.answered.Add(1)
		now, p := time.Now(), &r.Limits[part]
		return r.deny(part, after.Denial.Wait(now, p.Tokens, r.Result.Parts[part].Remaining))
	}
	return r.settle()
}

// complete adds to a decided request what home has left.
func (r *Several) complete() {
	if !r.hasParts() {
		return
	}
	now := time.Now()
	r.waitForAllowance()
	charges := r.Result.Binding < 0 && r.Asked.Options&engine.Peek == 0
	for i := range r.Limits {
		if !r.Away.Has(i) {
			continue
		}
		p := &r.Limits[i]
		key := r.Keeper.Key(r.At, p.Key)
		if key == nil {
			continue
		}
		tokens := p.Tokens
		if r.isAllowance(i) {
			tokens = min(tokens, r.Result.Parts[i].Granted)
		}
		if charges && tokens > 0 {
			key.Granted(now, p.Limit, tokens, r.Result.Parts[i].Remaining).AddTo(&r.Result.Parts[i], p.Limit)
		} else {
			key.AddHome(&r.Result.Parts[i], p.Limit)
		}
	}
}

// AddTo adds what home has left to the result of a purse.
func (h AtHome) AddTo(part *engine.Result, limit limits.Limit) {
	part.Remaining = min(part.Remaining+max(0, h.Remaining), part.Limit)
	switch part.Reset = 0; {
	case limit.Rate.Tokens > 0:
		part.Reset = limit.Rate.Refill(part.Limit - part.Remaining)
	case part.Remaining < part.Limit:
		part.Reset = max(0, int64(time.Until(h.Full)))
	}
}

// AddHome adds what home had left to the present state of a limit in a purse.
func (k *Key) AddHome(part *engine.Result, limit limits.Limit) { k.AtHome().AddTo(part, limit) }

// deny answers a request that home has no tokens for.
func (r *Several) deny(part int, wait int64) (finished bool) {
	r.Keeper.counts.denied.Add(1)
	for i := range r.Limits {
		if key := r.Keeper.Key(r.At, r.Limits[i].Key); r.Away.Has(i) && key != nil {
			key.AddHome(&r.Result.Parts[i], r.Limits[i].Limit)
		}
	}
	if r.Result.Parts[part].Wait = wait; !r.Result.Allowed { // a policy in shadow delays nobody
		r.Result.Wait = wait
	}
	return true
}

// fail answers a request by a status: nothing was taken. A policy in shadow, which refuses nobody, grants the request
// unless the status is about the key itself.
func (r *Several) fail(status engine.Status) (finished bool) {
	if r.isAboutHome(status) && r.hasParts() && r.Result.Allowed {
		return true
	}
	r.Result.Clear()
	r.Result.Status = status
	return true
}

// isAboutHome reports whether a status says that home has not decided, and nothing about the key.
func (r *Several) isAboutHome(status engine.Status) bool {
	return status == r.Failed || status == engine.NoHome || status == engine.NoLeader || status == engine.Overloaded
}

// A request with [engine.Else] takes from its included limits what they have, and the rest from a balance, so it is not
// denied if a purse has too few tokens. So that nobody pays for tokens that home has left, such a request first asks for
// the tokens that it may get from its purses, in a look that takes nothing and waits for a loan like any other request.
// Nothing is set aside between the two, so requests at the same time may still pay for a few. If home does not answer,
// the request is carried out with what its purses have, so that retries, shadows and denials get their answers.

// itself is a request while its look is asked in its place.
type itself struct {
	asked  engine.Op
	limits []engine.Op
}

// LookFirst makes a request that divides its cost look at its purses first, and any other ask as it is. It is called
// once all fields are set, before Asked is decided.
func (r *Several) LookFirst() {
	if !engine.HasElse(r.Limits) {
		return
	}
	balance := len(r.Limits) - 1
	look, isAny := engine.Op{Verb: engine.AcquireAll, Options: engine.Peek | r.Asked.Request().Options&engine.FromPurses}, false
	room := make([]engine.Op, len(r.Limits))
	for i := range r.Limits {
		p := &r.Limits[i]
		room[i] = engine.Op{Key: p.Key, Who: p.Who, Weight: p.Weight, Limit: p.Limit, Options: engine.FixedCost}
		switch {
		case r.isAllowance(i) && p.Tokens > 0:
			isAny = true
			room[i].Options, room[i].Tokens = 0, min(p.Tokens, p.Limit.Capacity)
			look.Tokens = max(look.Tokens, room[i].Tokens)
		case !p.IsIncluded() && i != balance: // if it denies, nothing is borrowed
			room[i].Tokens = p.Tokens
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

// isDemand reports whether a denial is demand for tokens of a part of which home has not heard. Home was asked for the
// tokens of a request that has waited. A look is demand only for tokens that the request itself does not wait for.
func (r *Several) isDemand(part int) bool {
	takes := r.Asked.Options&engine.Peek == 0 || r.itself != nil && r.itself.limits[part].IsIncluded()
	return takes && r.tries == 0
}

// isAllowance reports whether a limit gives what it has in its purse, and a balance the rest.
func (r *Several) isAllowance(i int) bool {
	return r.Away.Has(i) && engine.HasElse(r.Limits) && r.Limits[i].IsIncluded()
}

// follow asks the request itself once its look was answered.
func (r *Several) follow() (finished bool) {
	if status := r.Result.Status; r.itself == nil || status != engine.OK && !r.isAboutHome(status) {
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
			if denied, _ := key.Denied(now, r.Limits[i].Limit, lacks, false); denied.Limit == r.Limits[i].Limit {
				wait = denied.Wait(now, lacks, r.Result.Parts[i].Remaining)
			} else { // home has not denied it: by then it has all tokens
				part := r.Result.Parts[i]
				key.AddHome(&part, r.Limits[i].Limit)
				wait = max(int64(time.Millisecond), part.Reset)
			}
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
