package stint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Keyed is a limit and the key it is for.
type Keyed struct {
	Key   string
	Limit Limit
}

// On is the limit on a key, for [Limiter.All].
func On(key string, limit Limit) Keyed { return Keyed{key, limit} }

// All asks several limits at one instant, and takes a token from each of them or from none. Every limit needs a key of
// its own; queues have no part in it. See [Limiter.Allow] about err.
func (l *Limiter) All(ctx context.Context, limits ...Keyed) (MultiResult, error) {
	return l.AllN(ctx, 1, limits...)
}

// AllN is All with n tokens taken from each limit.
func (l *Limiter) AllN(ctx context.Context, n int64, limits ...Keyed) (MultiResult, error) {
	arguments := append(make([]any, 0, 4*len(limits)+3), "RL.ALL")
	keys := make([]string, len(limits))
	var invalid error
	if len(limits) == 0 || n < 1 {
		invalid = fmt.Errorf("%w: All needs a limit, and a number of tokens above 0, got %d limits and %d", ErrInvalid, len(limits), n)
	}
	for i, k := range limits {
		if err := k.Limit.check(); err != nil {
			invalid = err
		}
		if k.Limit.algorithm == leakyQueue {
			invalid = fmt.Errorf("%w: a queue cannot be one of several limits", ErrInvalid)
		}
		arguments = append(arguments, words[k.Limit.algorithm].spec, k.Key)
		arguments = k.Limit.appendArguments(arguments)
		keys[i] = k.Key
	}
	arguments = append(arguments, "TOKENS", n)
	return l.several(ctx, "All", strings.Join(keys, " "), n, arguments, limits, invalid)
}

// Check asks the limits that are kept on the server under the policy's name, for the caller with this id, and takes a
// token from each of them or from none. A policy that is in the shadow always allows; Binding then tells what would have
// denied. See [Limiter.Allow] about err, and [AssumePolicy] about [LocalShare].
func (l *Limiter) Check(ctx context.Context, policy, id string) (MultiResult, error) {
	return l.CheckN(ctx, policy, id, 1)
}

// CheckN is Check with n tokens taken from each limit.
func (l *Limiter) CheckN(ctx context.Context, policy, id string, n int64) (MultiResult, error) {
	var invalid error
	if n < 1 {
		invalid = fmt.Errorf("%w: the number of tokens must be above 0, got %d", ErrInvalid, n)
	}
	assumed := make([]Keyed, len(l.assumed[policy]))
	for i, limit := range l.assumed[policy] {
		assumed[i] = Keyed{fmt.Sprintf("%d:%s:%s", i, policy, id), limit}
	}
	return l.several(ctx, "Check", policy, n, []any{"RL.CHECK", policy, id, n}, assumed, invalid)
}

func (l *Limiter) several(ctx context.Context, operation, key string, n int64, arguments []any, limits []Keyed, invalid error) (MultiResult, error) {
	begun := time.Now()
	m, err := l.decideSeveral(ctx, arguments, n, limits, invalid)
	if len(l.hooks) > 0 {
		told := err
		if told == nil {
			told = m.Cause
		}
		l.observe(ctx, Decision{Operation: operation, Key: key, Tokens: n, Allowed: m.Allowed, Source: m.Source, Err: told, Duration: time.Since(begun)})
	}
	return m, err
}

func (l *Limiter) decideSeveral(ctx context.Context, arguments []any, n int64, limits []Keyed, invalid error) (MultiResult, error) {
	err := invalid
	if err == nil {
		var reply any
		if reply, err = l.ask(ctx, arguments); err == nil {
			var m MultiResult
			if m, err = parseMulti(reply); err == nil {
				return m, nil
			}
		}
	}
	m := MultiResult{Binding: -1, Source: Fallback, Cause: err}
	switch {
	case ctx.Err() != nil:
	case l.policy.kind == failOpen:
		m.Allowed, m.Granted = true, n
	case l.policy.kind == localShare && len(limits) > 0 && invalid == nil:
		m.Source = Local
		m.Limits, m.Binding, m.RetryAfter = l.local.take(time.Now(), n, limits, true)
		if m.Allowed = m.Binding < 0; m.Allowed {
			m.Granted = n
		}
	default:
		m.RetryAfter = retryWhenDown
	}
	if errors.Is(err, ErrUnavailable) {
		err = nil
	}
	return m, err
}
