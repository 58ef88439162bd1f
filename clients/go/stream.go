package stint

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Defaults of [StreamOptions].
const (
	DefaultStep     = 256
	DefaultRemember = 10 * time.Minute
)

// maxStep keeps the slices of a stream within the numbers of the protocol.
const maxStep = 1_000_000_000

// StreamOptions are the options of a [Stream].
type StreamOptions struct {
	// Prompt is the number of tokens that the stream uses from its beginning, such as those of a prompt.
	Prompt int64
	// Step is the number of tokens of an extension, and of the first slice of a caller whose streams are not known:
	// [DefaultStep] if it is 0, and at most 1,000,000,000.
	Step int64
	// Keep and Fields are those of a [Request].
	Keep   Keep
	Fields map[string]string
	// ID is that of a [Request]; if it is empty, the stream makes one. In a cluster with groups it needs a hash tag.
	ID string
	// Remember is how long after the last extension the stream can be settled: [DefaultRemember] if it is 0.
	Remember time.Duration
}

// A BudgetSpentError says that a limit denied a stream, or more of it.
type BudgetSpentError struct {
	Result MultiResult // the denial, of a limit or of the fallback
	Used   int64       // the tokens that were counted before it, with the prompt; 0 if the stream did not begin
}

// Error says when to try again, or why Stint did not decide.
func (e *BudgetSpentError) Error() string {
	outlook := fmt.Sprintf("try again in %v", e.Result.RetryAfter)
	switch {
	case e.Result.Source == Fallback:
		outlook = fmt.Sprint(e.Result.Cause)
	case e.Result.RetryAfter == Never:
		outlook = "it will never be granted"
	}
	return fmt.Sprintf("stint: the budget is spent after %d tokens: %s", e.Used, outlook)
}

// Unwrap returns why Stint did not decide, nil if it did.
func (e *BudgetSpentError) Unwrap() error { return e.Result.Cause }

// A Stream reserves tokens in slices while they are delivered, such as those of a language model's answer, so that it
// can be ended when its budget is spent:
//
//	stream, err := limiter.Stream(ctx, "llm", user, stint.StreamOptions{Prompt: 900})
//	if err != nil {
//		return err // a *BudgetSpentError if the policy denies it
//	}
//	defer stream.Close()
//	for chunk := range chunks {
//		if err := stream.Add(chunk.Tokens); err != nil {
//			return err // the chunk must not be passed on
//		}
//		…
//	}
//	stream.Settle(usage) // if the provider reports it
//
// Close settles it, once. Several goroutines may use a Stream.
type Stream struct {
	limiter *Limiter
	ctx     context.Context
	caller  string
	limits  []Keyed // of LocalShare
	options StreamOptions
	result  MultiResult // of the opening

	mu         sync.Mutex
	used       int64
	reserved   int64
	extensions int64 // that the server granted
	asksAhead  bool
	begun      bool
	total      int64 // as settled, -1 if it was not
	spent      error
	closed     bool
	charges    []Charge
	closeErr   error
}

// Stream reserves the first slice of a stream under a policy, all or nothing, for the caller with this id. The slice is
// the mean of what the caller's last 8 streams in this process have delivered, at least a Step and at most 16. When the
// budget has less, the stream begins with the rest. err is a *[BudgetSpentError] if a limit denies it, or the fallback.
//
// The stream ends with ctx: then Add returns its error, and Close settles all the same.
func (l *Limiter) Stream(ctx context.Context, policy, id string, o StreamOptions) (*Stream, error) {
	ask := func(r Request) (MultiResult, error) { return l.CheckWith(ctx, policy, id, r) }
	return l.open(ctx, fmt.Sprintf("%q %s", policy, shortKey(id)), o, l.assume(policy, id, o.Fields), ask)
}

// StreamAll is [Limiter.Stream] for limits that are given, as by [Limiter.AllWith]. Limits with a Cost are charged once.
func (l *Limiter) StreamAll(ctx context.Context, o StreamOptions, limits ...Keyed) (*Stream, error) {
	var keys []string
	for _, k := range limits {
		keys = append(keys, string(shortKey(k.Key)))
	}
	extended := slices.DeleteFunc(shortened(limits), func(k Keyed) bool { return k.hasCost })
	ask := func(r Request) (MultiResult, error) { return l.AllWith(ctx, r, limits...) }
	return l.open(ctx, strings.Join(keys, " "), o, extended, ask)
}

func (l *Limiter) open(ctx context.Context, caller string, o StreamOptions, limits []Keyed, ask func(Request) (MultiResult, error)) (*Stream, error) {
	o.Step, o.Remember, o.ID = cmp.Or(o.Step, DefaultStep), cmp.Or(o.Remember, DefaultRemember), cmp.Or(o.ID, "stream:"+rand.Text())
	if o.Prompt < 0 || o.Step < 1 || o.Step > maxStep {
		return nil, fmt.Errorf("%w: a stream has a Prompt of 0 or more tokens and a Step from 1 to %d, got %d and %d", ErrInvalid, maxStep, o.Prompt, o.Step)
	}
	r := Request{Tokens: o.Prompt + l.streams.first(caller, o.Step), Keep: o.Keep, Fields: o.Fields, ID: o.ID, Remember: o.Remember}
	m, err := ask(r)
	if b := m.Binding; err == nil && !m.Allowed && m.Source == Server && b >= 0 && b < len(m.Limits) && m.Limits[b].Remaining > o.Prompt {
		r.Tokens = o.Prompt + 1 // the rest of the budget is for the extensions
		m, err = ask(r)
	}
	if !m.Allowed && (isContextError(err) || errors.Is(m.Cause, ErrUnavailable)) { // the server may have granted it
		_, _ = l.Cancel(context.WithoutCancel(ctx), o.ID)
	}
	if err != nil {
		return nil, err
	}
	if !m.Allowed {
		return nil, &BudgetSpentError{Result: m}
	}
	return &Stream{
		limiter: l, ctx: ctx, caller: caller, limits: limits, options: o, result: m,
		used: o.Prompt, reserved: m.Granted, asksAhead: true, total: -1,
	}, nil
}

// Add counts the tokens of a chunk before it is passed on, and reserves more when they are needed, or soon will be.
// After an error, the chunk was not counted and must not be passed on. The error is a *[BudgetSpentError] if a limit
// denies more tokens, or the fallback; it then ends the stream. Add(0) says that the model has begun to answer, which
// costs the prompt.
func (s *Stream) Add(tokens int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case tokens < 0:
		return fmt.Errorf("%w: the tokens of a chunk must not be below 0, got %d", ErrInvalid, tokens)
	case s.closed:
		return ErrClosed
	case s.spent != nil:
		return s.spent
	}
	s.begun = true
	for s.used+tokens > s.reserved {
		m, err := s.extend(max(s.used+tokens-s.reserved, s.size()))
		if err != nil {
			return err
		}
		if !m.Allowed {
			s.spent = &BudgetSpentError{Result: m, Used: s.used}
			return s.spent
		}
	}
	s.used += tokens
	if size := s.size(); s.asksAhead && 2*(s.reserved-s.used) < size {
		s.asksAhead = false
		_, _ = s.extend(size) // what is reserved lasts for a while
	}
	return nil
}

// size is a step or, for a long stream, a part of what it has reserved, so that its extensions are few.
func (s *Stream) size() int64 { return max(s.options.Step, s.reserved/4) }

// extend reserves more tokens, up to a number. What the fallback has opened, the server does not know, so the fallback
// extends it too.
func (s *Stream) extend(tokens int64) (m MultiResult, err error) {
	known := true
	if s.result.Source == Server {
		e := Extension{Number: s.extensions + 1, Tokens: tokens, UpTo: true, Remember: s.options.Remember}
		m, known, err = s.limiter.extend(s.ctx, s.options.ID, e, s.limits)
	} else {
		m, err = s.limiter.fallBackSeveral(s.ctx, tokens, s.limits, s.result.Cause), s.ctx.Err()
	}
	if err != nil {
		return m, err
	}
	if !known {
		return m, fmt.Errorf("stint: the server does not know the stream %q any longer: Remember it for longer", s.options.ID)
	}
	if m.Allowed && m.Source == Server {
		s.extensions++
	}
	s.reserved += m.Granted
	s.asksAhead = m.Granted >= tokens
	return m, nil
}

// Settle sets the number of tokens that the provider reports for the whole stream, with its prompt. Close charges it
// instead of what was counted; it may be more than was reserved. Another number later is an error.
func (s *Stream) Settle(total int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case total < 0:
		return errCost(total)
	case s.total >= 0 && s.total != total:
		return fmt.Errorf("%w: the stream was settled with %d already, got %d", ErrInvalid, s.total, total)
	}
	s.total = total
	return nil
}

// Close settles the stream, once: with the total of Settle, else with what was counted. If neither was called, all is
// given back. After an error, [Limiter.Settle] with the stream's ID may be tried again.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.closeErr
	}
	s.closed = true
	if s.total < 0 && s.begun {
		s.total = s.used
	}
	ctx := context.WithoutCancel(s.ctx)
	if s.total < 0 {
		s.charges, s.closeErr = s.limiter.Cancel(ctx, s.options.ID)
	} else {
		s.limiter.streams.note(s.caller, max(0, s.total-s.options.Prompt))
		s.charges, s.closeErr = s.limiter.Settle(ctx, s.options.ID, s.total)
	}
	if s.charges == nil && s.closeErr == nil && s.result.Source == Server {
		s.closeErr = fmt.Errorf("stint: the server does not know the stream %q any longer, and all that it reserved stays taken: Remember it for longer", s.options.ID)
	}
	return s.closeErr
}

// ID is the ID under which the server knows the stream.
func (s *Stream) ID() string { return s.options.ID }

// Used is the number of tokens that were counted, with the prompt.
func (s *Stream) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Reserved is the number of tokens that were reserved.
func (s *Stream) Reserved() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reserved
}

// Charges are those of the limits, once the stream is closed.
func (s *Stream) Charges() []Charge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.charges
}
