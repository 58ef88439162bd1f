package upstream

import (
	"errors"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/loans"
	"github.com/stintdb/stint/server/command/limiter"
)

// acquire is a request for tokens of a key of home. It implements [loans.Request].
type acquire struct {
	u      *Upstream
	op     engine.Op // a copy, as it was asked
	until  time.Time
	waits  time.Time // when it began to wait for a loan
	byHome bool      // home decides it, whatever the purse has
	needs  bool      // a loan, because home would be asked by too many
	result *engine.Result
	done   func() // called once the result is there
}

// settle implements [waiting].
func (a *acquire) settle(res *engine.Result, done func()) (finished bool) {
	switch {
	case a.byHome:
	case res.Status != engine.OK:
		return true
	case res.Allowed:
		a.grantedHere(res)
		return true
	}
	if a.result, a.done = res, done; a.byHome {
		a.askHome(nil)
	} else {
		a.askBeyond(res.Remaining)
	}
	return false
}

// Op implements [loans.Request].
func (a *acquire) Op() engine.Op {
	op := a.op
	op.Limit, _ = inPurse(op.Limit)
	return op
}

// Tokens implements [loans.Request].
func (a *acquire) Tokens() int64 { return a.op.Tokens }

// NeedsLoan implements [loans.Request].
func (a *acquire) NeedsLoan() bool { return a.needs }

// Until implements [loans.Request].
func (a *acquire) Until() time.Time { return a.until }

// Decided implements [loans.Request].
func (a *acquire) Decided(key *loans.Key, res *engine.Result, after *loans.Outcome) {
	switch {
	case res.Status != engine.OK:
		a.end(*res)
	case res.Allowed:
		a.grantedHere(res)
		a.end(*res)
	case after.Refusal.Status == engine.OK && a.repeats(key, res.Remaining, a.waits.After(after.Asked)):
	case after.Refusal.Status == engine.NoHome:
		a.fail(errNotSent)
	default: // home is there, whatever the store or home refuses
		a.askHome(key)
	}
}

// Expired implements [loans.Request].
func (a *acquire) Expired() { a.fail(errNotSent) }

// grantedHere adds to a grant from the purse what home has left.
func (a *acquire) grantedHere(res *engine.Result) {
	a.u.counts.local.Add(1)
	key := a.u.keeper.Key(here, a.op.Key)
	if key == nil {
		return
	}
	tokens, left := res.Granted, res.Remaining
	if a.op.Options&engine.Peek != 0 {
		tokens = 0
	}
	key.Granted(time.Now(), a.op.Limit, tokens, left).AddTo(res, a.op.Limit)
}

// askBeyond decides a request that the purse has too few tokens for: those that are held.
func (a *acquire) askBeyond(held int64) {
	key := a.u.keeper.Key(here, a.op.Key)
	_, isLent := inPurse(a.op.Limit)
	if key == nil || !isLent {
		a.askHome(key)
		return
	}
	if a.repeats(key, held, true) {
		return
	}
	now, isPlain, lacks := time.Now(), a.op.Options == 0, a.op.Tokens-key.AtHome().Remaining
	takesBoth := isPlain && lacks > 0 && lacks <= held // home and the purse together have as many
	if !takesBoth && !key.IsWorthLoan(now, a.op.Limit, a.op.Tokens) {
		a.askHome(key)
		return
	}
	a.waits, a.needs = now, takesBoth || isPlain && key.IsInDemand(a.op.Limit, a.op.Tokens)
	switch key.Wait(now, a.op.Limit, a) {
	case engine.OK:
	case engine.Overloaded:
		a.end(engine.Result{Status: engine.Overloaded})
	default: // this process ends
		a.askHome(nil)
	}
}

// repeats answers a request by home's last denial, if that holds for it. The purse has the held tokens. isNew says that
// home was not asked for its tokens.
func (a *acquire) repeats(key *loans.Key, held int64, isNew bool) bool {
	now, least := time.Now(), a.op.Tokens
	if a.op.Options&engine.UpTo != 0 {
		least = min(1, least)
	}
	denied, holds := key.Denied(now, a.op.Limit, least, isNew && a.op.Options&engine.Peek == 0)
	if holds {
		res := *denied.Answer
		res.Wait = denied.Wait(now, least, held)
		a.u.counts.repeated.Add(1)
		a.end(res)
	}
	return holds
}

// askHome makes home decide a request. key may be nil.
func (a *acquire) askHome(key *loans.Key) {
	timeout := time.Until(a.until)
	if timeout <= 0 {
		a.fail(errNotSent)
		return
	}
	began := time.Now()
	words := limiter.AcquireWords(a.op.Key, a.op.Limit, a.op.Tokens, a.op.Options)
	a.u.home.send(timeout, a.op.Key, words, func(r reply, err error) {
		if err == nil {
			err = r.refused()
		}
		if err == nil && !isReplyTo(&a.op, r.ints) {
			err = errUnknown
		}
		if err != nil {
			a.fail(err)
			return
		}
		a.u.counts.asked.Add(1)
		res := answered(a.op.Limit.Algorithm, r.ints)
		if res.Allowed && a.op.Limit.Algorithm == limits.GCRA {
			res.Granted = a.op.Tokens
		}
		if key != nil {
			key.Answered(&a.op, began, &res)
		}
		a.end(res)
	})
}

// replyInts is the number of integers in the reply to a request, and to an operation on a loan.
const replyInts = 5

// isReplyTo reports whether a reply has as many integers as one to an operation. A limit that warns has one more, which
// follows from the others.
func isReplyTo(op *engine.Op, n []int64) bool {
	return len(n) == replyInts || op.Verb == engine.Acquire && op.Limit.Warn != 0 && len(n) == replyInts+1
}

// answered returns the result that home's reply states in five integers. CL.THROTTLE has them in another order and in
// seconds.
func answered(algorithm limits.Algorithm, n []int64) engine.Result {
	res := engine.Result{Granted: n[0], Limit: n[1], Remaining: n[2], Wait: n[3], Reset: n[4]}
	unit := time.Millisecond
	if algorithm == limits.GCRA {
		unit = time.Second
		res.Allowed, res.Granted = n[0] == 0, 0
	} else {
		// a request for no tokens is granted, with none
		res.Allowed = n[0] > 0 || n[3] == 0
	}
	if res.Wait > 0 {
		res.Wait *= int64(unit)
	}
	res.Reset *= int64(unit)
	if res.Allowed {
		res.Wait = 0
	}
	return res
}

// fail answers a request that home has not decided, as far as is known.
func (a *acquire) fail(err error) {
	c := &a.u.counts
	switch {
	case errors.Is(err, errFull):
		a.end(engine.Result{Status: engine.Overloaded})
	case a.u.opt.Down.Decides && !errors.Is(err, errRefused): // which is no sign that home is down
		a.decideAlone()
	case errors.Is(err, errUnknown):
		c.uncertain.Add(1)
		a.end(engine.Result{Status: engine.Uncertain})
	default:
		c.failed.Add(1)
		a.end(engine.Result{Status: engine.NoHome})
	}
}

// decideAlone decides a request that home does not decide. The callers may get more than their limit. It waits for
// nothing, because it may be called by whoever answers the store's batches.
func (a *acquire) decideAlone() {
	down, tokens := &a.u.opt.Down, a.op.Tokens
	own, ok := shareOf(&a.op, down.Share)
	switch {
	case down.Allows:
		a.endAlone(engine.Result{Limit: a.op.Limit.Capacity, Allowed: true, Granted: tokens})
	case !ok:
		a.endAlone(engine.Result{Limit: a.op.Limit.Capacity, Wait: int64(retryAlone)})
	default:
		b := &engine.Batch{Ops: []engine.Op{own}, Results: make([]engine.Result, 1)}
		b.Done = func() {
			res := b.Results[0]
			if res.Wait == engine.NeverWait && tokens <= a.op.Limit.Capacity { // home grants as many
				res.Wait = int64(retryAlone)
			}
			a.endAlone(res)
		}
		if a.u.opt.Decider.Decide(b) {
			b.Done()
		}
	}
}

func (a *acquire) endAlone(res engine.Result) {
	switch c := &a.u.counts; {
	case res.Allowed:
		c.grantedAlone.Add(1)
	case res.Status == engine.OK:
		c.deniedAlone.Add(1)
	}
	a.end(res)
}

// end answers a request.
func (a *acquire) end(res engine.Result) {
	*a.result = res
	a.done()
}
