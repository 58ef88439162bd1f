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

	cost    int64
	hasCost bool
	keep    Keep
	orElse  bool
}

// On is the limit on a key, for [Limiter.All].
func On(key string, limit Limit) Keyed { return Keyed{Key: key, Limit: limit} }

// Cost returns the limit with its own number of tokens, in place of the call's. With 0, the limit's state is
// reported and nothing is taken.
func (k Keyed) Cost(n int64) Keyed {
	k.cost, k.hasCost = n, true
	return k
}

// Keep returns the limit with a part that the request leaves to others.
func (k Keyed) Keep(part Keep) Keyed {
	k.keep = part
	return k
}

// tokens is the number asked of the limit by a call for n. What the limits before OrElse lack is not known, and a
// penalty has none.
func (k Keyed) tokens(n int64) int64 {
	if k.orElse || k.Limit.algorithm == penalty {
		return 0
	}
	if k.hasCost {
		return k.cost
	}
	return n
}

// keeps reports whether a part of the limit can be left to others. For further limits the server has no Keep.
func (l Limit) keeps() bool { return !words[l.algorithm].noKeep }

// check refuses requests that the protocol cannot express.
func (k Keyed) check() error {
	if k.cost < 0 {
		return fmt.Errorf("%w: the cost must not be below 0, got %d", ErrInvalid, k.cost)
	}
	if k.orElse && k.Limit.algorithm != balance {
		return fmt.Errorf("%w: OrElse is for a Balance, got %v", ErrInvalid, k.Limit)
	}
	if err := k.keep.check(); err != nil {
		return err
	}
	return k.Limit.check()
}

// appendSpec appends the limit as RL.ALL takes it. keep applies if the limit states none.
func (k Keyed) appendSpec(arguments []any, keep Keep) []any {
	if k.orElse {
		arguments = append(arguments, "ELSE")
	}
	arguments = append(arguments, words[k.Limit.algorithm].spec, k.Key)
	arguments = k.Limit.appendOptions(k.Limit.appendArguments(arguments))
	if k.hasCost {
		arguments = append(arguments, "COST", k.cost)
	}
	if k.keep == "" && k.Limit.keeps() {
		k.keep = keep
	}
	return k.keep.appendOption(arguments)
}

// All checks several limits atomically, and takes a token from each of them or from none. Every limit needs a separate
// key. When one is a queue, wait for [MultiResult].Wait before acting. See [Limiter.Allow] about err.
func (l *Limiter) All(ctx context.Context, limits ...Keyed) (MultiResult, error) {
	return l.AllN(ctx, 1, limits...)
}

// AllN is All with n tokens taken from each limit that has no [Keyed.Cost].
func (l *Limiter) AllN(ctx context.Context, n int64, limits ...Keyed) (MultiResult, error) {
	return l.AllWith(ctx, Request{Tokens: n}, limits...)
}

// AllWith is All with the tokens, conditions and ID of a request. It is also for a single limit.
func (l *Limiter) AllWith(ctx context.Context, r Request, limits ...Keyed) (MultiResult, error) {
	arguments := append(make([]any, 0, 8*len(limits)+9), "RL.ALL")
	keys, limits := make([]string, len(limits)), shortened(limits)
	invalid := r.check()
	if len(limits) == 0 {
		invalid = fmt.Errorf("%w: All needs a limit", ErrInvalid)
	}
	if len(r.Fields) > 0 {
		invalid = fmt.Errorf("%w: fields are for the keys of a policy, not for All", ErrInvalid)
	}
	if r.ShowWarn {
		invalid = fmt.Errorf("%w: ShowWarn is for the limits of a policy, not for All", ErrInvalid)
	}
	for i, k := range limits {
		if err := k.check(); err != nil {
			invalid = err
		}
		arguments = k.appendSpec(arguments, r.Keep)
		keys[i] = k.Key
	}
	arguments = r.appendOptions(append(arguments, "TOKENS", r.Tokens))
	return l.several(ctx, "All", strings.Join(keys, " "), r, arguments, limits, invalid)
}

// Check checks the limits of a policy stored on the server. It takes a token from each limit of the caller with this
// id, or from none. A policy in shadow mode always allows; Binding is then the limit that would have denied. See
// [Limiter.Allow] about err, and [AssumePolicy] about [LocalShare]. An id of more than 200 bytes is shortened like a
// key; an override on the server has to name its short form.
func (l *Limiter) Check(ctx context.Context, policy, id string) (MultiResult, error) {
	return l.CheckN(ctx, policy, id, 1)
}

// CheckN is Check with n tokens taken from each limit that has no COST.
func (l *Limiter) CheckN(ctx context.Context, policy, id string, n int64) (MultiResult, error) {
	return l.CheckWith(ctx, policy, id, Request{Tokens: n})
}

// CheckWith is Check with the tokens, conditions, fields and ID of a request.
func (l *Limiter) CheckWith(ctx context.Context, policy, id string, r Request) (MultiResult, error) {
	id = string(shortKey(id))
	arguments := r.appendOptions(r.Keep.appendOption([]any{"RL.CHECK", policy, id, r.Tokens}))
	if r.ShowWarn {
		arguments = append(arguments, "WARN")
	}
	arguments = appendFields(arguments, r.Fields)
	return l.several(ctx, "Check", policy, r, arguments, l.assume(policy, id, r.Fields), r.check())
}

// assume returns the limits that [LocalShare] has of a policy for a caller.
func (l *Limiter) assume(policy, id string, fields map[string]string) []Keyed {
	caller := string(shortKey(id))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		caller += fmt.Sprintf(":%q=%q", name, shortKey(fields[name]))
	}
	assumed := make([]Keyed, len(l.assumed[policy]))
	for i, limit := range l.assumed[policy] {
		assumed[i] = On(fmt.Sprintf("%d:%s:%s", i, policy, caller), limit)
	}
	return assumed
}

// appendFields adds the values of the names in the keys of a policy.
func appendFields(arguments []any, fields map[string]string) []any {
	if len(fields) > 0 {
		arguments = append(arguments, "WITH")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		arguments = append(arguments, name, string(shortKey(fields[name])))
	}
	return arguments
}

func (l *Limiter) several(ctx context.Context, operation, key string, r Request, arguments []any, limits []Keyed, invalid error) (MultiResult, error) {
	begun := time.Now()
	m, err := l.decideSeveral(ctx, arguments, r, limits, invalid)
	l.tell(ctx, Decision{Operation: operation, Key: key, Tokens: r.Tokens, Allowed: m.Allowed, Source: m.Source, Duration: time.Since(begun)}, err, m.Cause)
	return m, err
}

func (l *Limiter) decideSeveral(ctx context.Context, arguments []any, r Request, limits []Keyed, invalid error) (MultiResult, error) {
	err, n, ask := invalid, r.Tokens, l.ask
	if r.ID != "" {
		ask = l.askUntilAnswered
	}
	if err == nil {
		var reply any
		if reply, err = ask(ctx, arguments); err == nil {
			var m MultiResult
			if m, err = parseMulti(reply, endsWithBalance(limits)); err == nil {
				return m, nil
			}
		}
	}
	m := l.fallBackSeveral(ctx, n, limits, err)
	if errors.Is(err, ErrUnavailable) {
		err = nil
	}
	return m, err
}

func endsWithBalance(limits []Keyed) bool {
	return len(limits) > 0 && limits[len(limits)-1].Limit.algorithm == balance
}

// fallBackSeveral returns the fallback's decision on a request for n tokens of several limits.
func (l *Limiter) fallBackSeveral(ctx context.Context, n int64, limits []Keyed, err error) MultiResult {
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
	return m
}

// shortened are the limits with keys in the form that is sent to the server.
func shortened(limits []Keyed) []Keyed {
	short := make([]Keyed, len(limits))
	for i, k := range limits {
		k.Key = string(shortKey(k.Key))
		short[i] = k
	}
	return short
}
