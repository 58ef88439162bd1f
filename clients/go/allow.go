package stint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Allow asks whether one more may happen under the key, and takes a token if so.
//
// The Result is always a decision that can be acted on: Stint's or, when Stint does not answer, the limiter's policy's.
// err tells what the caller should mend: ctx is over, the limit is not valid, the server refuses the command (NOAUTH,
// WRONGTYPE, …) or the limiter is closed. With ctx over, the Result is a denial; with the other errors it is the
// policy's answer, so that a program that only looks at the Result stays up or shut as it was told to.
func (l *Limiter) Allow(ctx context.Context, key string, limit Limit) (Result, error) {
	return l.acquire(ctx, "Allow", key, limit, 1, "")
}

// AllowN asks for n tokens at once and takes all of them or none.
func (l *Limiter) AllowN(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	return l.acquire(ctx, "Allow", key, limit, n, "")
}

// AllowAtMost takes as many tokens as there are, up to n; [Result].Granted tells how many. It is for buckets and
// windows, not for queues and GCRA.
func (l *Limiter) AllowAtMost(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	return l.acquire(ctx, "AllowAtMost", key, limit, n, "UPTO")
}

// Peek answers as AllowN would, and takes nothing.
func (l *Limiter) Peek(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	return l.acquire(ctx, "Peek", key, limit, n, "PEEK")
}

// Force takes n tokens even if they are not there, for work whose cost is known only afterwards. Remaining may then be
// below zero, and other requests are denied until time has made up for it. It is for buckets and windows.
func (l *Limiter) Force(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	return l.acquire(ctx, "Force", key, limit, n, "FORCE")
}

// Refund gives back tokens that were taken and not used, at most as many as are taken. It returns what is then
// remaining; for a key from which nothing is taken that is not known, and known is false. It is never repeated: when err
// is ErrUnavailable, the tokens may or may not be back.
func (l *Limiter) Refund(ctx context.Context, key string, n int64) (remaining int64, known bool, err error) {
	reply, err := l.ask(ctx, []any{"RL.REFUND", key, n})
	if errors.Is(err, redis.Nil) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	remaining, known = reply.(int64)
	if !known {
		return 0, false, fmt.Errorf("%w (%v)", errReply, reply)
	}
	return remaining, true, nil
}

// Reset makes a key as good as new.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	_, err := l.ask(ctx, []any{"DEL", key})
	return err
}

// acquire asks for n tokens with the limit's command and an option.
func (l *Limiter) acquire(ctx context.Context, operation, key string, limit Limit, n int64, options ...any) (Result, error) {
	begun := time.Now()
	result, err := l.decide(ctx, key, limit, n, options)
	if err != nil || result.Cause != nil {
		result = l.settle(ctx, key, limit, n, options, result, err)
	}
	if len(l.hooks) > 0 {
		told := err
		if told == nil {
			told = result.Cause
		}
		l.observe(ctx, Decision{Operation: operation, Key: key, Tokens: n, Allowed: result.Allowed, Source: result.Source, Err: told, Duration: time.Since(begun)})
	}
	return result, err
}

// decide asks Stint. When it is not available, the result has the cause and nothing else.
func (l *Limiter) decide(ctx context.Context, key string, limit Limit, n int64, options []any) (Result, error) {
	if err := limit.check(); err != nil {
		return Result{}, err
	}
	if n < 1 {
		return Result{}, fmt.Errorf("%w: the number of tokens must be above 0, got %d", ErrInvalid, n)
	}
	arguments, err := limit.command(key, n, options)
	if err != nil {
		return Result{}, err
	}
	reply, err := l.ask(ctx, arguments)
	if errors.Is(err, ErrUnavailable) {
		return Result{Cause: err}, nil
	}
	if err != nil {
		return Result{}, err
	}
	return limit.parseResult(reply, n)
}

// command is the whole command, with the options that are not empty.
func (l Limit) command(key string, n int64, options []any) ([]any, error) {
	arguments := make([]any, 0, 8)
	arguments = append(arguments, words[l.algorithm].command, key)
	arguments = append(l.appendArguments(arguments), n)
	for _, option := range options {
		if option == "" {
			continue
		}
		if l.algorithm == gcra {
			return nil, fmt.Errorf("%w: CL.THROTTLE has no option %v; take Per(…).Burst(…) on another key", ErrInvalid, option)
		}
		arguments = append(arguments, option)
	}
	return arguments, nil
}

// settle gives the answer in place of Stint's.
func (l *Limiter) settle(ctx context.Context, key string, limit Limit, n int64, options []any, got Result, err error) Result {
	if err != nil {
		got.Cause = err
	}
	option := options[0]
	r := Result{Limit: limit.Tokens(), Source: Fallback, Cause: got.Cause}
	switch {
	case err != nil && ctx.Err() != nil:
	case option == "FORCE", l.policy.kind == failOpen:
		r.Allowed, r.Granted = true, n
	case l.policy.kind == localShare && limit.check() == nil && n > 0:
		r = l.settleLocally(key, limit, n, option)
		r.Source, r.Cause = Local, got.Cause
	default:
		r.RetryAfter = retryWhenDown
	}
	return r
}

// retryWhenDown is the RetryAfter of FailClosed: when Stint comes back is not known.
const retryWhenDown = time.Second

func (l *Limiter) settleLocally(key string, limit Limit, n int64, option any) Result {
	now, limits := time.Now(), []Keyed{{key, limit}}
	states, binding, retry := l.local.take(now, n, limits, option != "PEEK")
	if binding >= 0 && option == "UPTO" && states[0].Remaining > 0 {
		n = states[0].Remaining
		states, binding, retry = l.local.take(now, n, limits, true)
	}
	r := Result{Allowed: binding < 0, Limit: states[0].Limit, Remaining: states[0].Remaining, ResetAfter: states[0].ResetAfter}
	if r.Allowed {
		r.Granted = n
	} else {
		r.RetryAfter = retry
	}
	return r
}
