package stint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// All checks several limits atomically, and takes a token from each of them or from none. Every limit needs a separate
// key; queues are not allowed. See [Limiter.Allow] about err.
func (l *Limiter) All(ctx context.Context, limits ...Keyed) (MultiResult, error) {
	return l.AllN(ctx, 1, limits...)
}

// AllN is All with n tokens taken from each limit.
func (l *Limiter) AllN(ctx context.Context, n int64, limits ...Keyed) (MultiResult, error) {
	arguments := append(make([]any, 0, 4*len(limits)+3), "RL.ALL")
	keys, limits := make([]string, len(limits)), shortened(limits)
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

// Check checks the limits of a policy stored on the server. It takes a token from each limit of the caller with this
// id, or from none. A policy in shadow mode always allows; Binding is then the limit that would have denied. See
// [Limiter.Allow] about err, and [AssumePolicy] about [LocalShare]. An id of more than 200 bytes is shortened like a
// key; an override on the server has to name its short form.
func (l *Limiter) Check(ctx context.Context, policy, id string) (MultiResult, error) {
	return l.CheckN(ctx, policy, id, 1)
}

// CheckN is Check with n tokens taken from each limit.
func (l *Limiter) CheckN(ctx context.Context, policy, id string, n int64) (MultiResult, error) {
	return l.CheckWith(ctx, policy, id, n, nil)
}

// CheckWith is CheckN with the fields that {name} stands for in the keys of the policy, such as a tenant. The server refuses a
// check that lacks a field, or has one that no limit of the policy asks for. Long values are shortened like a key.
func (l *Limiter) CheckWith(ctx context.Context, policy, id string, n int64, fields map[string]string) (MultiResult, error) {
	var invalid error
	if n < 1 {
		invalid = fmt.Errorf("%w: the number of tokens must be above 0, got %d", ErrInvalid, n)
	}
	id = string(shortKey(id))
	arguments, caller := []any{"RL.CHECK", policy, id, n}, id
	if len(fields) > 0 {
		arguments = append(arguments, "WITH")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := string(shortKey(fields[name]))
		arguments = append(arguments, name, value)
		caller += fmt.Sprintf(":%q=%q", name, value)
	}
	assumed := make([]Keyed, len(l.assumed[policy]))
	for i, limit := range l.assumed[policy] {
		assumed[i] = Keyed{fmt.Sprintf("%d:%s:%s", i, policy, caller), limit}
	}
	return l.several(ctx, "Check", policy, n, arguments, assumed, invalid)
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
	case !undecided(err):
		m.RetryAfter = retryWhenDown
	case l.policy.kind == failOpen:
		m.Allowed, m.Granted = true, n
	case l.policy.kind == localShare && len(limits) > 0:
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

// shortened are the limits with keys in the form that is sent to the server.
func shortened(limits []Keyed) []Keyed {
	short := make([]Keyed, len(limits))
	for i, k := range limits {
		short[i] = Keyed{string(shortKey(k.Key)), k.Limit}
	}
	return short
}
