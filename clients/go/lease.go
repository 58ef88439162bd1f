package stint

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A lease holds tokens of one key under one limit.
type lease struct {
	leases *Leases
	key    serverKey
	limit  Limit

	current     atomic.Pointer[chunk]
	remaining   atomic.Int64 // at the server, after the last reply
	deniedUntil atomic.Int64
	fetching    atomic.Bool

	mu       sync.Mutex
	next     *chunk // spent when current is used up
	waiters  []*waiter
	ended    bool
	refunded invalidation // by this process
	reset    invalidation // likewise
	consumed int64        // tokens of chunks before the current one
	measured int64        // consumed at the last measurement of demand
	at       int64        // time of that measurement
	demand   float64      // tokens per nanosecond
	seen     *chunk       // by the last tidy; seenLeft are its tokens then, quiet the rounds without a change
	seenLeft int64
	quiet    int
}

// A waiter is a caller that waits for tokens being fetched.
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
	e.leases.limiter.observe(ctx, Decision{Operation: "Allow", Key: string(e.key), Tokens: n, Allowed: r.Allowed, Source: r.Source, Err: told, Duration: time.Since(begun)})
	return r, err
}

// take answers from memory if possible, and fetches tokens otherwise.
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

// refill fetches the next chunk in the background.
func (e *lease) refill() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next == nil && !e.ended && !e.fetching.Swap(true) {
		go e.fetch()
	}
}

// wait starts a fetch and waits for its tokens, at most for the limiter's timeout.
func (e *lease) wait(ctx context.Context, now, n int64) (Result, error) {
	limiter := e.leases.limiter
	e.mu.Lock()
	if c, left, ok := e.spend(now, n); ok {
		e.mu.Unlock()
		return e.granted(c, now, n, left), nil
	}
	if e.ended || len(e.waiters) >= maxQueued {
		e.mu.Unlock()
		return limiter.acquire(ctx, "Allow", e.key, e.limit, n, "")
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
		return limiter.fallBack(ctx, e.key, e.limit, n, []any{""}, r, err), err
	case <-deadline.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !w.state.CompareAndSwap(waiting, abandoned) {
		if r := <-w.done; r.Source != Fallback { // both at once: the answer counts
			return r, nil
		}
	}
	return limiter.fallBack(ctx, e.key, e.limit, n, []any{""}, Result{Cause: errTimeoutSent}, err), err
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

// turnTo makes a chunk the current one. The rest of the previous chunk, too little for the current request, goes back.
// e.mu is held.
func (e *lease) turnTo(now int64, c *chunk) {
	if old := e.current.Swap(c); old != nil {
		e.consumed += old.granted - old.left.Load()
		if refund := old.empty(now); refund > 0 {
			go e.refund(context.Background(), refund)
		}
	}
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

// idle reports that no tokens were spent since the last call although some are held. Only tidy calls it.
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

// aging reports that a chunk may expire within two rounds of tidy.
func (e *lease) aging() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	then := e.leases.now() + 2*int64(tidyEvery)
	for _, c := range []*chunk{e.current.Load(), e.next} {
		if c != nil && c.left.Load() > 0 && c.expiresAt < then {
			return true
		}
	}
	return false
}

// giveBack refunds the tokens held; end also stops the lease.
func (e *lease) giveBack(ctx context.Context) error {
	e.mu.Lock()
	refund := e.clear(e.leases.now())
	e.mu.Unlock()
	return e.refund(ctx, refund)
}

// clear takes all tokens out and returns the number to give back. e.mu is held.
func (e *lease) clear(now int64) (refund int64) {
	e.measure(now)
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
			h.Lease(string(e.key), -n)
		}
	}
	_, _, err := limiter.refund(ctx, e.key, n)
	return err
}
