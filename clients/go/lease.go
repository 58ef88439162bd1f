package stint

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// nearlyNothing is for how much time's worth of tokens a chunk is even when next to nothing is left.
const nearlyNothing = time.Millisecond

// A lease is what is held of one key under one limit.
type lease struct {
	leases *Leases
	key    string
	limit  Limit

	current     atomic.Pointer[chunk]
	remaining   atomic.Int64 // at the server, when it was last asked
	deniedUntil atomic.Int64
	fetching    atomic.Bool

	mu       sync.Mutex
	next     *chunk // spent when current is used up
	waiters  []*waiter
	ended    bool
	consumed int64   // tokens of chunks before the current one
	measured int64   // consumed, when demand was last measured
	at       int64   // when that was
	demand   float64 // tokens per nanosecond
	seen     *chunk  // of the tidier: the chunk it saw last, what was left of it, and how often nothing had changed
	seenLeft int64
	quiet    int
}

// A waiter is a caller for whom tokens are being fetched.
type waiter struct {
	n     int64
	state atomic.Int32 // waiting, sent (answered), abandoned
	done  chan Result
}

func (e *lease) observed(ctx context.Context, n int64) (Result, error) {
	begun := time.Now()
	r, err := e.take(ctx, n)
	told := err
	if told == nil {
		told = r.Cause
	}
	e.leases.limiter.observe(ctx, Decision{Operation: "Allow", Key: e.key, Tokens: n, Allowed: r.Allowed, Source: r.Source, Err: told, Duration: time.Since(begun)})
	return r, err
}

// take answers from memory if it can, and fetches otherwise.
func (e *lease) take(ctx context.Context, n int64) (Result, error) {
	now := e.leases.now()
	if c := e.current.Load(); c != nil {
		if left, ok := c.spend(now, n); ok {
			if left < c.low && !c.refilling.Load() && !c.refilling.Swap(true) {
				e.refill()
			}
			return e.granted(c, now, n, left), nil
		}
	}
	if until := e.deniedUntil.Load(); now < until {
		return e.denied(time.Duration(until - now)), nil
	}
	return e.wait(ctx, now, n)
}

func (e *lease) granted(c *chunk, now, n, left int64) Result {
	return Result{
		Allowed: true, Granted: n, Limit: e.limit.tokens, Remaining: min(left+e.remaining.Load(), e.limit.tokens),
		ResetAfter: time.Duration(max(0, c.fullAt-now)), Source: Leased,
	}
}

func (e *lease) denied(retryAfter time.Duration) Result {
	return Result{Limit: e.limit.tokens, RetryAfter: max(retryAfter, time.Millisecond), ResetAfter: retryAfter, Source: Leased}
}

// refill gets the next chunk in the background.
func (e *lease) refill() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next == nil && !e.ended && !e.fetching.Swap(true) {
		go e.fetch()
	}
}

// wait has tokens fetched and waits for them, for no longer than the limiter's timeout.
func (e *lease) wait(ctx context.Context, now, n int64) (Result, error) {
	limiter := e.leases.limiter
	e.mu.Lock()
	if c, left, ok := e.spend(now, n); ok {
		e.mu.Unlock()
		return e.granted(c, now, n, left), nil
	}
	if e.ended || len(e.waiters) >= maxQueued {
		e.mu.Unlock()
		return limiter.AllowN(ctx, e.key, e.limit, n)
	}
	w := &waiter{n: n, done: make(chan Result, 1)}
	e.waiters = append(e.waiters, w)
	if !e.fetching.Swap(true) {
		go e.fetch()
	}
	e.mu.Unlock()
	deadline := time.NewTimer(limiter.timeout)
	defer deadline.Stop()
	var err error
	select {
	case r := <-w.done:
		if r.Source != Fallback {
			return r, nil
		}
		if !errors.Is(r.Cause, ErrUnavailable) {
			err = r.Cause
		}
		return limiter.settle(ctx, e.key, e.limit, n, []any{""}, r, err), err
	case <-deadline.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !w.state.CompareAndSwap(waiting, abandoned) {
		if r := <-w.done; r.Source != Fallback { // both at once: the answer counts
			return r, nil
		}
	}
	return limiter.settle(ctx, e.key, e.limit, n, []any{""}, Result{Cause: errTimeoutSent}, err), err
}

// spend takes tokens from the current chunk or the next. e.mu is held.
func (e *lease) spend(now, n int64) (c *chunk, left int64, ok bool) {
	if c = e.current.Load(); c != nil {
		if left, ok = c.spend(now, n); ok {
			return c, left, true
		}
	}
	if e.next == nil {
		return nil, 0, false
	}
	e.turnTo(now, e.next)
	e.next = nil
	c = e.current.Load()
	left, ok = c.spend(now, n)
	return c, left, ok
}

// turnTo makes a chunk the current one. What is left of the one before, too little for the request at hand, goes back.
// e.mu is held.
func (e *lease) turnTo(now int64, c *chunk) {
	if old := e.current.Swap(c); old != nil {
		e.consumed += old.granted - old.left.Load()
		if refund := old.empty(now); refund > 0 {
			go e.refund(context.Background(), refund)
		}
	}
}

// fetch gets chunks for as long as somebody waits for one.
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
				h.Lease(e.key, r.Granted)
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

// receive puts what a request for want tokens brought to use, and answers those who wait as far as it tells something
// about them. It returns tokens to give back. e.mu is held.
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
	} else if e.limit.algorithm == tokenBucket { // all that was there is taken
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
	if r.Granted > 0 {
		refund = e.keep(now, newChunk(e.limit, sentAt, r))
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

// keep puts a chunk to use, or returns what of it to give back. e.mu is held.
func (e *lease) keep(now int64, c *chunk) (refund int64) {
	switch current := e.current.Load(); {
	case current == nil || current.usable(now) == 0:
		e.turnTo(now, c)
	case e.next == nil:
		e.next = c
	default: // both are in use: a large request could not be met from either
		return c.empty(now)
	}
	return 0
}

// serve answers those who wait, in order; those for whom answer returns the zero Result go on waiting. e.mu is held.
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
			w.done <- r // otherwise it has left just now, and time brings its tokens back
		}
	}
	clear(e.waiters[len(kept):])
	e.waiters = kept
}

// want is how many tokens to ask for: those that are waited for, and a chunk to go on with. e.mu is held.
func (e *lease) want(now int64) int64 {
	e.measure(now)
	ahead := float64(e.leases.ahead)
	size := e.demand * ahead
	least := 1.0
	if e.limit.algorithm == tokenBucket {
		rate := float64(e.limit.count) / float64(e.limit.period)
		// As long as the bucket is nearly full, a chunk shrinks at the rate: it takes more to last.
		lacks := float64(e.limit.tokens - e.remaining.Load())
		size = max(size, rate*ahead-lacks)
		least = max(least, rate*float64(nearlyNothing))
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

// measure estimates how many tokens are used in a nanosecond. It follows a rise at once and a fall slowly.
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

func (e *lease) held() (tokens int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.leases.now()
	for _, c := range []*chunk{e.current.Load(), e.next} {
		if c != nil {
			tokens += c.usable(now)
		}
	}
	return tokens
}

// idle reports that nothing was spent since it was last asked, though there is something to spend. The tidier asks.
func (e *lease) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.current.Load()
	left := int64(0)
	if c != nil {
		left = c.left.Load()
	}
	if c == e.seen && left == e.seenLeft && len(e.waiters) == 0 {
		e.quiet++
		return e.quiet == 1 && (left > 0 || e.next != nil)
	}
	e.seen, e.seenLeft, e.quiet = c, left, 0
	return false
}

func (e *lease) forgotten() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.quiet >= forgetAfter
}

// giveBack returns what is held, and end does so for good.
func (e *lease) giveBack(ctx context.Context) error {
	e.mu.Lock()
	refund := e.clear(e.leases.now())
	e.mu.Unlock()
	return e.refund(ctx, refund)
}

// clear takes all tokens out and returns how many to give back. e.mu is held.
func (e *lease) clear(now int64) (refund int64) {
	if c := e.current.Swap(nil); c != nil {
		refund += c.empty(now)
	}
	if e.next != nil {
		refund += e.next.empty(now)
		e.next = nil
	}
	e.consumed, e.measured, e.seen, e.seenLeft = 0, 0, nil, 0
	return refund
}

func (e *lease) end(ctx context.Context) error {
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	return e.giveBack(ctx)
}

func (e *lease) refund(ctx context.Context, n int64) error {
	if n == 0 {
		return nil
	}
	limiter := e.leases.limiter
	for _, h := range limiter.hooks {
		if h.Lease != nil {
			h.Lease(e.key, -n)
		}
	}
	_, _, err := limiter.Refund(ctx, e.key, n)
	return err
}
