package stint

import (
	"context"
	"fmt"
	"time"
)

// longestWait bounds a reservation of Wait when ctx has no deadline.
const longestWait = 365 * 24 * time.Hour

// A Reservation is the right to act at a future time.
type Reservation struct {
	Result
	limiter *Limiter
	key     string
	at      time.Time
}

// Reserve takes n tokens that will be refilled within maxWait, in whole milliseconds rounded down: the caller may act
// after [Reservation.Delay], and later requests are served after it. If the refill takes longer, the reservation is not
// Allowed and nothing was taken. Reserve is for token buckets, adaptive ones too, and queues. A queue does not know
// maxWait: a place with a longer wait is taken and refunded at once. Tokens granted by a reply that comes after ctx is
// over, or after the fallback has denied, are given back in the background. See [Limiter.Allow] about err.
func (l *Limiter) Reserve(ctx context.Context, key string, limit Limit, n int64, maxWait time.Duration) (*Reservation, error) {
	var options []any
	switch limit.algorithm {
	case tokenBucket, adaptive:
		options = []any{""}
		if maxWait >= time.Millisecond {
			options = []any{"MAXWAIT", milliseconds(maxWait.Truncate(time.Millisecond))}
		}
	case leakyQueue:
		options = []any{""}
	default:
		err := fmt.Errorf("%w: only token buckets, adaptive limits and queues can be reserved ahead of time, not %v", ErrInvalid, limit)
		return &Reservation{Result: Result{Source: Fallback, Cause: err}}, err
	}
	var left *call
	result, err := leaving(l, &left).acquire(ctx, "Reserve", shortKey(key), limit, n, options...)
	if left != nil && !result.Allowed {
		go giveBackLate(context.WithoutCancel(ctx), l, left, key, limit, n)
	}
	r := &Reservation{Result: result, limiter: l, key: key, at: time.Now().Add(result.Wait)}
	if limit.algorithm == leakyQueue && r.Wait > maxWait {
		r.Allowed, r.RetryAfter = false, r.Wait-maxWait
		_, _, refundErr := l.Refund(context.WithoutCancel(ctx), key, n) // ctx may be over since the reply
		if err == nil {
			err = refundErr
		}
	}
	return r, err
}

// giveBackLate waits for the reply of a reservation whose caller has left, and gives back its tokens, because nobody
// will act on it. The pipe bounds the wait, and the number of calls to wait for.
func giveBackLate(ctx context.Context, l *Limiter, left *call, key string, limit Limit, n int64) {
	<-left.done
	if left.command.Err() != nil {
		return
	}
	if r, err := limit.parseResult(left.command.Val(), n); err == nil && r.Granted > 0 {
		_, _, _ = l.Refund(ctx, key, r.Granted)
	}
}

// NewReservation makes a reservation from a Result, for tests and for other implementations of interfaces; its time
// comes Wait from now. Its Cancel does nothing.
func NewReservation(r Result) *Reservation {
	return &Reservation{Result: r, at: time.Now().Add(r.Wait)}
}

// Delay is the time from now until the caller may act.
func (r *Reservation) Delay() time.Duration { return max(0, time.Until(r.at)) }

// Cancel gives the tokens back, unless the time to act has come. Later reservations keep their times, so for a moment
// usage may exceed the limit by the number of tokens given back; in the long run it does not.
func (r *Reservation) Cancel(ctx context.Context) error {
	if r.limiter == nil || !r.Allowed || r.Source != Server || r.Delay() == 0 {
		return nil
	}
	_, _, err := r.limiter.Refund(ctx, r.key, r.Granted)
	return err
}

// Wait waits for a token and takes it; nil means go ahead. See [Limiter.WaitN].
func (l *Limiter) Wait(ctx context.Context, key string, limit Limit) error {
	return l.WaitN(ctx, key, limit, 1)
}

// WaitN waits for n tokens and takes them; nil means go ahead. With token buckets and queues, requests are served in
// the order in which they reached Stint, with one round trip each. For a place of a [Concurrency] limit, see
// [Limiter.Place]. With other limits it asks again after RetryAfter,
// and other callers may be quicker; so it does in the pause of an adaptive limit.
//
// When ctx has a deadline that is too near, it returns ErrWouldExceedDeadline at once and takes nothing. When ctx ends
// while it waits, it returns ctx.Err() and gives the tokens back; see [Reservation.Cancel]. It returns ErrDenied when
// waiting does not help: the limit can never grant n tokens, or the queue is full.
//
// While Stint does not answer, the fallback decides: with FailOpen WaitN returns nil at once, with LocalShare it waits
// for the local share, and with FailClosed it returns ErrDenied with the cause.
func (l *Limiter) WaitN(ctx context.Context, key string, limit Limit, n int64) error {
	_, err := l.wait(ctx, key, limit, n)
	return err
}

// wait is WaitN with the answer.
func (l *Limiter) wait(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	for {
		maxWait := longestWait
		if deadline, ok := ctx.Deadline(); ok {
			maxWait = max(0, time.Until(deadline))
		}
		result, err := l.waitOnce(ctx, key, limit, n, maxWait)
		if err != nil || result.Allowed {
			return result, err
		}
		if err := l.policy.giveUp(limit, result, n, maxWait); err != nil {
			return result, err
		}
		if err := sleep(ctx, result.RetryAfter); err != nil {
			return result, err
		}
	}
}

// waitOnce asks once and, when it is granted, waits until the reserved time.
func (l *Limiter) waitOnce(ctx context.Context, key string, limit Limit, n int64, maxWait time.Duration) (Result, error) {
	if limit.algorithm == concurrency && n == 1 {
		return l.waitForPlace(ctx, key, limit, maxWait)
	}
	if limit.algorithm != tokenBucket && limit.algorithm != leakyQueue && limit.algorithm != adaptive {
		return l.AllowN(ctx, key, limit, n)
	}
	r, err := l.Reserve(ctx, key, limit, n, maxWait)
	if err != nil || !r.Allowed {
		return r.Result, err
	}
	if err := sleep(ctx, r.Delay()); err != nil {
		// ctx is over, and the refund needs a context that is not.
		_ = r.Cancel(context.WithoutCancel(ctx))
		return r.Result, err
	}
	return r.Result, nil
}

// giveUp returns an error if waiting after a denial would not help.
func (p Policy) giveUp(limit Limit, denied Result, n int64, maxWait time.Duration) error {
	switch {
	case denied.Source == Fallback && p.kind == failClosed:
		return fmt.Errorf("%w: %w", ErrDenied, denied.Cause)
	case denied.NeedsPayment:
		return fmt.Errorf("%w: the balance has fewer than %d credits, and only a payment helps", ErrDenied, n)
	case denied.RetryAfter == Never:
		return fmt.Errorf("%w: %d tokens are more than %v can ever grant", ErrDenied, n, limit)
	case denied.Source == Server && limit.algorithm == tokenBucket, denied.RetryAfter > maxWait, denied.Wait > maxWait:
		return ErrWouldExceedDeadline
	case denied.Source == Server && limit.algorithm == leakyQueue:
		return fmt.Errorf("%w: the queue is full, %d are waiting", ErrDenied, limit.tokens)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
