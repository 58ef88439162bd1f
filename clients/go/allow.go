package stint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Allow asks whether one more may happen under the key, and takes a token if so.
//
// The Result is always a decision: Stint's or, when Stint cannot decide, the fallback's. err is a
// mistake to fix. It comes with a denial under every policy: ctx is over, an argument is not valid, or the server
// refuses this request (ERR, WRONGTYPE, NOPERM, …). Otherwise a client that can provoke an error would escape its
// limit. Only [ErrUnauthenticated] and [ErrClosed] come with the fallback's decision, because no request can cause them.
//
// A key of more than 200 bytes is shortened for the server: to its first 136 bytes, ":sha256:", and the SHA-256 of the
// whole key in hexadecimal digits. No two keys have the same short form.
func (l *Limiter) Allow(ctx context.Context, key string, limit Limit) (Result, error) {
	return l.acquire(ctx, "Allow", shortKey(key), limit, 1, "")
}

// AllowN asks for n tokens at once and takes all of them or none.
func (l *Limiter) AllowN(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	return l.acquire(ctx, "Allow", shortKey(key), limit, n, "")
}

// AllowAtMost takes the tokens that are left, at most n; [Result].Granted is their number. It is for buckets and
// windows, not for queues and GCRA.
func (l *Limiter) AllowAtMost(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	return l.acquire(ctx, "AllowAtMost", shortKey(key), limit, n, "UPTO")
}

// Peek returns the answer of AllowN, and takes nothing.
func (l *Limiter) Peek(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	return l.acquire(ctx, "Peek", shortKey(key), limit, n, "PEEK")
}

// Force takes n tokens even if fewer are left, for work whose cost is known only afterwards. Remaining may then be
// below zero, and other requests are denied until time has refilled it. It is for buckets and windows.
func (l *Limiter) Force(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	return l.acquire(ctx, "Force", shortKey(key), limit, n, "FORCE")
}

// Refund gives back tokens that were taken and not used, up to the full limit. It returns the number then remaining; if
// the key has no usage, known is false and remaining has no meaning. Refund is never repeated: when err is
// ErrUnavailable, the tokens may or may not be back.
func (l *Limiter) Refund(ctx context.Context, key string, n int64) (remaining int64, known bool, err error) {
	if n < 1 {
		return 0, false, errTokens(n)
	}
	reply, err := l.ask(ctx, []any{"RL.REFUND", string(shortKey(key)), n})
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

// AtMost leaves at most n tokens of a key's limit, for a limit that has more than the service that it stands for. It
// never gives any back. Granted is the number taken. It is for [Limit.Corrects]. AtMost decides nothing, so the fallback does
// not answer it, and it is never repeated.
func (l *Limiter) AtMost(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	if err := limit.check(); err != nil {
		return Result{}, err
	}
	if n < 0 || !limit.Corrects() {
		return Result{}, fmt.Errorf("%w: AtMost needs a bucket or a window and 0 tokens or more, got %v and %d", ErrInvalid, limit, n)
	}
	limit.spread = false // nobody is denied
	arguments := limit.appendArguments([]any{"RL.ATMOST", string(shortKey(key)), words[limit.algorithm].spec})
	reply, err := l.ask(ctx, limit.appendOptions(append(arguments, n)))
	if err != nil {
		return Result{}, err
	}
	limit.algorithm = tokenBucket // whose form the reply has
	result, err := limit.parseResult(reply, n)
	result.Allowed, result.RetryAfter = err == nil, 0
	return result, err
}

// Reset deletes a key: it is at its full limit again, except for tokens that processes hold by [Leases].
func (l *Limiter) Reset(ctx context.Context, key string) error {
	_, err := l.ask(ctx, []any{"DEL", string(shortKey(key))})
	return err
}

// acquire asks for n tokens with the limit's command and an option.
func (l *Limiter) acquire(ctx context.Context, operation string, key serverKey, limit Limit, n int64, options ...any) (Result, error) {
	begun := time.Now()
	result, err := l.decide(ctx, key, limit, n, options)
	if err != nil || result.Cause != nil {
		result = l.fallBack(ctx, []Keyed{On(string(key), limit)}, n, options[0], result, err)
	}
	l.tell(ctx, Decision{Operation: operation, Key: string(key), Tokens: n, Allowed: result.Allowed, Source: result.Source, Duration: time.Since(begun)}, err, result.Cause)
	return result, err
}

// decide sends the request to Stint. When Stint is not available, the result has only the cause.
func (l *Limiter) decide(ctx context.Context, key serverKey, limit Limit, n int64, options []any) (Result, error) {
	if err := limit.check(); err != nil {
		return Result{}, err
	}
	if n < 1 {
		return Result{}, errTokens(n)
	}
	if limit.algorithm == concurrency && n != 1 {
		return Result{}, fmt.Errorf("%w: CC.ACQUIRE asks for one place, got %d", ErrInvalid, n)
	}
	arguments, err := limit.command(key, n, options)
	if err != nil {
		return Result{}, err
	}
	return l.result(ctx, limit, n, arguments)
}

// result sends a command, and reads its answer. When Stint is not available, the result has only the cause.
func (l *Limiter) result(ctx context.Context, limit Limit, n int64, arguments []any) (Result, error) {
	reply, err := l.ask(ctx, arguments)
	if errors.Is(err, ErrUnavailable) {
		return Result{Cause: err}, nil
	}
	if err != nil {
		return Result{}, err
	}
	return limit.parseResult(reply, n)
}

func errTokens(n int64) error {
	return fmt.Errorf("%w: the number of tokens must be above 0, got %d", ErrInvalid, n)
}

// command is the whole command. The first option is empty if there is none.
func (l Limit) command(key serverKey, n int64, options []any) ([]any, error) {
	if l.algorithm == penalty {
		return nil, fmt.Errorf("%w: PENALTY is one of several limits: use it in All, beside those whose denials it counts", ErrInvalid)
	}
	arguments := make([]any, 0, 8)
	arguments = append(arguments, words[l.algorithm].command, string(key))
	if arguments = l.appendArguments(arguments); l.algorithm != concurrency {
		arguments = append(arguments, n)
	}
	arguments = l.appendOptions(arguments)
	if options[0] == "" {
		return arguments, nil
	}
	if row := words[l.algorithm]; row.instead != "" && !strings.Contains(row.options, options[0].(string)) {
		return nil, fmt.Errorf("%w: %s has no option %v; %s", ErrInvalid, row.command, options[0], row.instead)
	}
	return append(arguments, options...), nil
}

// fallBack returns the fallback's decision. The state is the first limit's.
func (l *Limiter) fallBack(ctx context.Context, limits []Keyed, n int64, option any, got Result, err error) Result {
	if err != nil {
		got.Cause = err
	}
	r := Result{Limit: limits[0].Limit.Tokens(), Source: Fallback, Cause: got.Cause}
	switch {
	case err != nil && ctx.Err() != nil:
	case !undecided(got.Cause):
		r.RetryAfter = retryWhenDown
	case option == "FORCE", l.policy.kind == failOpen:
		r.Allowed, r.Granted = true, n
	case l.policy.kind == localShare:
		r = l.fallBackLocally(limits, n, option)
		r.Source, r.Cause = Local, got.Cause
	default:
		r.RetryAfter = retryWhenDown
	}
	return r
}

// retryWhenDown is the RetryAfter of FailClosed and of requests that are refused. It is a guess: when Stint will be
// back, or the mistake fixed, is not known.
const retryWhenDown = time.Second

func (l *Limiter) fallBackLocally(limits []Keyed, n int64, option any) Result {
	now := time.Now()
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
