package upstream

import (
	"errors"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
)

// askHome has home decide a request. k may be nil.
func (u *Upstream) askHome(k *key, a *acquire) {
	timeout := time.Until(a.until)
	if timeout <= 0 {
		u.fail(a, errNotSent)
		return
	}
	began := time.Now()
	u.home.send(timeout, a.op.Key, limiter.AcquireWords(a.op.Key, a.op.Limit, a.op.Tokens, a.op.Options), func(r reply, err error) {
		if err == nil {
			err = r.refused()
		}
		if err == nil && len(r.ints) != acquireInts {
			err = errUnknown
		}
		if err != nil {
			u.fail(a, err)
			return
		}
		u.counts.asked.Add(1)
		a.result = answered(a.op.Limit.Algorithm, r.ints)
		if a.result.Allowed && a.op.Limit.Algorithm == limits.GCRA {
			a.result.Granted = a.op.Tokens
		}
		if k != nil {
			k.heard(began, a)
		}
		a.done()
	})
}

// acquireInts is the number of integers in the reply to a request.
const acquireInts = 5

// answered is the result of home's reply: five integers, which CL.THROTTLE has in another order and in seconds.
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

// heard learns from home's answer to a request.
func (k *key) heard(began time.Time, a *acquire) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remaining = a.result.Remaining
	switch {
	case a.op.Options&engine.Peek != 0:
	case a.result.Allowed:
		k.use(now, a.result.Granted)
	case a.result.Wait > 0:
		wait := began.Add(time.Duration(a.result.Wait))
		repeat := began.Add(denyFor)
		if wait.Before(repeat) {
			repeat = wait
		}
		k.denial = denial{limit: a.op.Limit, tokens: a.op.Tokens, repeat: repeat, wait: wait, result: a.result}
		if a.op.Options&engine.UpTo != 0 {
			k.denial.tokens = 1
		}
	}
}

// fail answers a request that home has not decided, or perhaps has.
func (u *Upstream) fail(a *acquire, err error) {
	switch {
	case errors.Is(err, errUnknown):
		u.counts.uncertain.Add(1)
		a.end(engine.Uncertain)
	case errors.Is(err, errFull):
		a.end(engine.Overloaded)
	default:
		u.counts.failed.Add(1)
		a.end(engine.NoHome)
	}
}

// errRefused is an error that home has answered: nothing was carried out.
var errRefused = errors.New("home has refused the request")

// refused is the error of a reply that is one.
func (r *reply) refused() error {
	switch {
	case r.refusal == "":
		return nil
	case codeOf(r.refusal) == codeOf(command.ErrUncertain.Error()):
		return errUnknown
	}
	return errRefused
}
