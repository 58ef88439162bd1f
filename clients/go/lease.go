package stint

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A lease answers requests for one key under one limit: from a purse, or by asking the server.
type lease struct {
	leases *Leases
	key    serverKey
	limit  Limit
	purse  purse

	remaining atomic.Int64 // at the server for everybody else, after its last reply
	low       atomic.Int64 // with fewer tokens left, more are fetched
	denial    atomic.Pointer[denial]
	fetching  atomic.Bool
	turn      chan struct{} // has room for the one that operates on the loan

	mu       sync.Mutex
	waiters  []*waiter
	ended    bool
	alone    int64   // until then, requests go to the server one by one
	asked    int64   // tokens granted to such requests
	measured int64   // tokens used until the last measurement of demand
	at       int64   // time of that measurement
	demand   float64 // tokens per nanosecond
	seen     int64   // tokens used until the last tidy
	quiet    int     // rounds of tidy since they were more
}

// A denial is an answer of the server to a request for one token.
type denial struct {
	until   int64 // then there will be one
	askNext int64 // until then the answer stands
}

// A waiter is a caller that waits for tokens being fetched.
type waiter struct {
	n     int64
	state atomic.Int32 // waiting, sent (answered), abandoned
	done  chan Result  // the zero Result: ask the server
}

// limits are the key and the limit that an answer of the policy needs.
func (e *lease) limits() []Keyed { return []Keyed{On(string(e.key), e.limit)} }

func (e *lease) observed(ctx context.Context, n int64) (Result, error) {
	begun := time.Now()
	r, err := e.take(ctx, n)
	e.leases.limiter.tell(ctx, Decision{Operation: "Allow", Key: string(e.key), Tokens: n, Allowed: r.Allowed, Source: r.Source, Duration: time.Since(begun)}, err, r.Cause)
	return r, err
}

// take answers from memory if possible, and asks the server or fetches tokens otherwise.
func (e *lease) take(ctx context.Context, n int64) (Result, error) {
	now := e.leases.now()
	if left, ok := e.purse.spend(now, n); ok {
		if left < e.low.Load() && !e.fetching.Load() {
			e.refill()
		}
		return e.granted(n, left), nil
	}
	if d := e.denial.Load(); d != nil && now.monotonic < d.askNext {
		return e.denied(time.Duration(d.until - now.monotonic)), nil
	}
	return e.wait(ctx, now, n)
}

// granted is the answer from memory, where the end of a window is not known.
func (e *lease) granted(n, left int64) Result {
	r := Result{Allowed: true, Granted: n, Limit: e.limit.tokens, Remaining: min(left+e.remaining.Load(), e.limit.tokens), Source: Leased}
	if missing := e.limit.tokens - r.Remaining; e.limit.algorithm == tokenBucket && missing > 0 {
		r.ResetAfter = time.Duration(ceilMulDiv(missing, int64(e.limit.period), e.limit.count))
	}
	return r
}

func (e *lease) denied(retryAfter time.Duration) Result {
	return Result{Limit: e.limit.tokens, RetryAfter: max(retryAfter, time.Millisecond), ResetAfter: retryAfter, Source: Leased}
}

// refill fetches tokens in the background.
func (e *lease) refill() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended && !e.fetching.Swap(true) {
		go e.fetch()
	}
}

// wait asks the server for these tokens alone, or starts a fetch and waits for it, at most for the limiter's timeout.
func (e *lease) wait(ctx context.Context, now moment, n int64) (Result, error) {
	limiter := e.leases.limiter
	e.mu.Lock()
	if left, ok := e.purse.spend(now, n); ok {
		e.mu.Unlock()
		return e.granted(n, left), nil
	}
	if e.ended || len(e.waiters) >= maxQueued || now.monotonic < e.alone || !e.inDemand(now, n) {
		e.mu.Unlock()
		return e.askAlone(ctx, limiter, n)
	}
	w := &waiter{n: n, done: make(chan Result, 1)}
	e.waiters = append(e.waiters, w)
	if !e.fetching.Swap(true) {
		go e.fetch()
	}
	e.mu.Unlock()
	begun := time.Now()
	deadline := time.NewTimer(limiter.timeout)
	defer deadline.Stop()
	var err error
	select {
	case r := <-w.done:
		switch {
		case r.Source == Server:
			return e.askAlone(ctx, limiter.within(limiter.timeout-time.Since(begun)), n)
		case r.Source == Leased:
			return r, nil
		case !errors.Is(r.Cause, ErrUnavailable):
			err = r.Cause
		}
		return limiter.fallBack(ctx, e.limits(), n, "", r, err), err
	case <-deadline.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !w.state.CompareAndSwap(waiting, abandoned) {
		if r := <-w.done; r.Source == Leased { // both at once: the answer counts
			return r, nil
		}
	}
	return limiter.fallBack(ctx, e.limits(), n, "", Result{Cause: errTimeoutSent}, err), err
}

// askAlone asks the server for the tokens of one request.
func (e *lease) askAlone(ctx context.Context, limiter *Limiter, n int64) (Result, error) {
	sentAt := e.leases.now().monotonic
	options := []any{""}
	r, err := limiter.decide(ctx, e.key, e.limit, n, options)
	if err != nil || r.Cause != nil {
		return limiter.fallBack(ctx, e.limits(), n, options[0], r, err), err
	}
	e.remaining.Store(r.Remaining)
	if !r.Allowed && n == 1 {
		e.denial.Store(&denial{sentAt + int64(r.RetryAfter), sentAt + min(int64(r.RetryAfter), int64(e.leases.ahead))})
	}
	e.mu.Lock()
	e.asked += r.Granted
	e.mu.Unlock()
	return r, nil
}

// idle reports that no tokens were used since the last call although there is a loan. Only tidy calls it.
func (e *lease) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if used := e.used(); used != e.seen || len(e.waiters) > 0 {
		e.seen, e.quiet = used, 0
		return false
	}
	e.quiet++
	return e.quiet == 1 && e.purse.known != 0
}

func (e *lease) forgotten() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.quiet >= forgetAfter
}

// aging reports that tokens are left that cannot be spent for long without another operation.
func (e *lease) aging() bool {
	since := e.purse.since.Load()
	return since != nil && e.purse.tokens.Load() > 0 && e.leases.now().since(*since) >= renewAfter
}

func (e *lease) held() int64 {
	if !e.purse.valid(e.leases.now()) {
		return 0
	}
	return e.purse.tokens.Load()
}
