package stint

import (
	"context"
	"time"
)

// fetch asks for tokens while callers wait.
func (e *lease) fetch() {
	e.turn <- struct{}{}
	defer func() { <-e.turn }()
	limiter := e.leases.limiter
	e.giveBackAgain()
	for more := true; more; {
		e.mu.Lock()
		if e.ended {
			e.serve(func(*waiter) Result { return Result{} })
			e.fetching.Store(false)
			e.mu.Unlock()
			return
		}
		now := e.leases.now()
		want := e.want(now)
		op := e.purse.lend(now, e.key, e.limit, want)
		e.mu.Unlock()
		reply, err := limiter.ask(context.Background(), op.arguments)
		e.mu.Lock()
		a, err := e.purse.hear(op, reply, err)
		e.receive(want, a, err)
		if more = len(e.waiters) > 0; !more {
			e.fetching.Store(false)
		}
		e.mu.Unlock()
		e.report(a.granted)
	}
}

// receive answers the waiters that an answer to a request for tokens decides. e.mu is held.
func (e *lease) receive(want int64, a loanAnswer, err error) {
	now := e.leases.now()
	defer func() { e.low.Store(e.purse.tokens.Load() / 4) }()
	switch {
	case err != nil && undecided(err):
		e.serve(func(*waiter) Result { return Result{Source: Fallback, Cause: err} })
		return
	case err != nil: // an older server, a user who may not, or another limiter on the key: the single request gets the error
		e.alone = now.monotonic + int64(loanFor)
		e.serve(func(*waiter) Result { return Result{} })
		return
	case a.granted == 0 && want > 0 && !a.ignored:
		e.alone = now.monotonic + int64(e.leases.ahead)
	}
	e.remaining.Store(a.remaining)
	decided := a.granted < want && !a.ignored
	e.serve(func(w *waiter) Result {
		if left, ok := e.purse.spend(now, w.n); ok {
			return e.granted(w.n, left)
		}
		if decided {
			return Result{}
		}
		return unanswered
	})
}

// unanswered is not sent to a waiter, who waits on.
var unanswered = Result{Granted: -1}

// serve answers the waiters in order, except those for which answer returns unanswered. e.mu is held.
func (e *lease) serve(answer func(*waiter) Result) {
	kept := e.waiters[:0]
	for _, w := range e.waiters {
		if w.state.Load() == abandoned {
			continue
		}
		r := answer(w)
		if r == unanswered {
			kept = append(kept, w)
			continue
		}
		if w.state.CompareAndSwap(waiting, sent) {
			w.done <- r
		} else { // its caller has just left
			e.purse.tokens.Add(r.Granted)
		}
	}
	clear(e.waiters[len(kept):])
	e.waiters = kept
}

// want is the number of tokens to ask for: the tokens of the waiters and of the time ahead, without what is left.
// e.mu is held.
func (e *lease) want(now moment) int64 {
	e.measure(now)
	needed := min(e.demand*float64(e.leases.ahead), float64(e.limit.tokens))
	tokens := int64(needed)
	for _, w := range e.waiters {
		if w.state.Load() == waiting {
			tokens += w.n
		}
	}
	if e.purse.valid(now) {
		tokens -= e.purse.tokens.Load()
	}
	return max(0, min(tokens, e.limit.tokens))
}

// inDemand reports that at least two requests for n tokens are expected in the time ahead. Otherwise a loan costs more
// requests than it saves. e.mu is held.
func (e *lease) inDemand(now moment, n int64) bool {
	e.measure(now)
	return e.demand*float64(e.leases.ahead) >= 2*float64(n)
}

// used is the number of tokens that were used since the beginning. e.mu is held.
func (e *lease) used() int64 { return e.purse.spent() + e.asked }

// measure estimates the tokens used per nanosecond. It follows a rise at once and a fall slowly. e.mu is held.
func (e *lease) measure(now moment) {
	span := now.monotonic - e.at
	if span < int64(time.Millisecond) {
		return
	}
	used := e.used()
	sample := float64(used-e.measured) / float64(span)
	if sample < e.demand {
		sample = (3*e.demand + sample) / 4
	}
	e.demand, e.measured, e.at = sample, used, now.monotonic
}

// giveBack returns the tokens of the loan, after the fetch that is under way.
func (e *lease) giveBack(ctx context.Context) error {
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-e.turn }()
	return e.sendBack(ctx)
}

// giveBackAgain repeats a return whose answer was lost. The caller has the turn.
func (e *lease) giveBackAgain() {
	e.mu.Lock()
	lost := e.purse.unheard != nil
	e.mu.Unlock()
	if lost {
		_ = e.sendBack(context.Background()) // if it is lost again, its tokens count as spent
	}
}

// sendBack returns the tokens of the loan, or repeats the last return if its answer was lost. The caller has the turn.
func (e *lease) sendBack(ctx context.Context) error {
	e.mu.Lock()
	if e.purse.known == 0 {
		e.mu.Unlock()
		return nil
	}
	op := e.purse.giveBack(e.leases.now(), e.key)
	e.mu.Unlock()
	reply, err := e.leases.limiter.ask(ctx, op.arguments)
	e.mu.Lock()
	a, err := e.purse.hear(op, reply, err)
	e.mu.Unlock()
	e.report(-a.granted)
	return err
}

// end gives the tokens back, and tries it a second time if the answer is lost. Later requests go to the server one by
// one.
func (e *lease) end(ctx context.Context) error {
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	err := e.giveBack(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return e.giveBack(ctx)
}

// report calls the hooks for tokens lent, or given back.
func (e *lease) report(tokens int64) {
	for _, h := range e.leases.limiter.hooks {
		if h.Lease != nil && tokens != 0 {
			h.Lease(string(e.key), tokens)
		}
	}
}
