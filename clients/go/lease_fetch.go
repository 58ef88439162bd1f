package stint

import (
	"context"
	"time"
)

// minChunk is the least time that a chunk lasts at the limit's rate, even if few tokens are left.
const minChunk = time.Millisecond

// fetch requests chunks while callers wait.
func (e *lease) fetch() {
	for {
		sentAt := e.leases.now()
		e.mu.Lock()
		want := e.want(sentAt)
		e.mu.Unlock()
		limiter := e.leases.limiter
		r, err := limiter.decide(context.Background(), e.key, e.limit, want, []any{"UPTO"})
		if err != nil {
			r = Result{Cause: err}
		}
		for _, h := range limiter.hooks {
			if h.Lease != nil && r.Granted > 0 {
				h.Lease(string(e.key), r.Granted)
			}
		}
		e.mu.Lock()
		refund := e.receive(sentAt, want, r)
		more := len(e.waiters) > 0
		if !more {
			e.fetching.Store(false)
		}
		e.mu.Unlock()
		e.refund(context.Background(), refund)
		if !more {
			return
		}
	}
}

// receive uses the reply to a request for want tokens: it answers the waiters that the reply decides, and keeps the
// rest as a chunk. It returns the number of tokens to give back. e.mu is held.
func (e *lease) receive(sentAt, want int64, r Result) (refund int64) {
	now := e.leases.now()
	if r.Cause != nil {
		e.serve(func(*waiter) Result { return Result{Source: Fallback, Cause: r.Cause} })
		return 0
	}
	e.remaining.Store(r.Remaining)
	retryAfter := r.RetryAfter
	if r.Granted == 0 {
		e.deniedUntil.Store(sentAt + int64(r.RetryAfter))
	} else if e.limit.algorithm == tokenBucket { // the grant emptied the bucket
		retryAfter = max(1, time.Duration(ceilMulDiv(1, int64(e.limit.period), e.limit.count)))
	} else {
		retryAfter = r.ResetAfter
	}
	exhausted := r.Granted < want || e.ended
	e.serve(func(w *waiter) Result {
		if w.n > r.Granted {
			return Result{}
		}
		r.Granted -= w.n
		e.consumed += w.n
		return Result{Allowed: true, Granted: w.n, Limit: r.Limit, Remaining: r.Remaining + r.Granted, ResetAfter: r.ResetAfter, Source: Server}
	})
	switch c := newChunk(e.limit, sentAt, r); {
	case r.Granted == 0, e.reset.covers(sentAt): // tokens of the deleted bucket do not go back
	case e.refunded.covers(sentAt):
		refund = c.empty(now)
	default:
		refund = e.keep(now, c)
	}
	e.serve(func(w *waiter) Result {
		if c, left, ok := e.spend(now, w.n); ok {
			return e.granted(c, now, w.n, left)
		}
		if exhausted {
			return e.denied(time.Duration(w.n) * retryAfter)
		}
		return Result{}
	})
	if e.ended {
		refund += e.clear(now)
	}
	return refund
}

// keep makes a chunk the current or the next one; if both are in use it returns the tokens to give back. e.mu is held.
func (e *lease) keep(now int64, c *chunk) (refund int64) {
	switch current := e.current.Load(); {
	case current == nil || current.usable(now) == 0:
		e.turnTo(now, c)
	case e.next == nil:
		e.next = c
	default: // both are in use: neither could satisfy a large request
		return c.empty(now)
	}
	return 0
}

// serve answers the waiters in order. Waiters for which answer returns the zero Result go on waiting. e.mu is held.
func (e *lease) serve(answer func(*waiter) Result) {
	kept := e.waiters[:0]
	for _, w := range e.waiters {
		if w.state.Load() == abandoned {
			continue
		}
		r := answer(w)
		if r == (Result{}) {
			kept = append(kept, w)
			continue
		}
		if w.state.CompareAndSwap(waiting, sent) {
			w.done <- r // otherwise its caller has just left; its tokens come back as time passes
		}
	}
	clear(e.waiters[len(kept):])
	e.waiters = kept
}

// want is the number of tokens to request: those of the waiters, and a chunk. e.mu is held.
func (e *lease) want(now int64) int64 {
	e.measure(now)
	ahead := float64(e.leases.ahead)
	size := e.demand * ahead
	least := 1.0
	if e.limit.algorithm == tokenBucket {
		rate := float64(e.limit.count) / float64(e.limit.period)
		// While the bucket is nearly full, a chunk shrinks at the rate, so it must be larger to last.
		lacks := float64(e.limit.tokens - e.remaining.Load())
		size = max(size, rate*ahead-lacks)
		least = max(least, rate*float64(minChunk))
	}
	size = max(least, min(size, float64(e.remaining.Load())/8))
	needed := int64(0)
	for _, w := range e.waiters {
		if w.state.Load() == waiting {
			needed += w.n
		}
	}
	return max(1, min(needed+int64(size)-1, e.limit.tokens))
}

// measure estimates the tokens used per nanosecond. It follows a rise at once and a fall slowly.
func (e *lease) measure(now int64) {
	consumed := e.consumed
	if c := e.current.Load(); c != nil {
		consumed += c.granted - c.left.Load()
	}
	span := now - e.at
	if span < int64(time.Millisecond) {
		return
	}
	sample := float64(consumed-e.measured) / float64(span)
	if sample < e.demand {
		sample = (3*e.demand + sample) / 4
	}
	e.demand, e.measured, e.at = sample, consumed, now
}
