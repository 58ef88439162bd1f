package stint

import (
	"errors"
	"fmt"
	"time"
)

// Never is the RetryAfter of a request for more tokens than the limit can ever grant.
const Never time.Duration = -1

// A Result is the answer to one request.
type Result struct {
	// Allowed reports whether to go ahead.
	Allowed bool
	// Granted is the number of tokens taken. It is 0 when the request was denied, and with AllowAtMost it may be less
	// than requested.
	Granted int64
	// Limit is the largest number that can be granted at once: a bucket's capacity, or a window's limit.
	Limit int64
	// Remaining is the number of whole tokens left. After Force it may be below zero.
	Remaining int64
	// RetryAfter is, after a denial, the time until the same request would be allowed if no other caller takes tokens;
	// or Never. It is 0 when the request was allowed.
	RetryAfter time.Duration
	// NeedsPayment says, after a denial, that waiting does not help: a [Balance] lacks credits, and a payment adds them.
	// RetryAfter is Never.
	NeedsPayment bool
	// Wait is, after a grant, the time to wait before going ahead. It is 0 except for places in a queue and for
	// reservations.
	Wait time.Duration
	// ResetAfter is the time until the key is at its full limit: the bucket full, the window over.
	ResetAfter time.Duration
	// Warn says that the use of the limit has reached the threshold of its [Limit.Warn]; of several limits, that of any
	// of them.
	Warn bool
	// Source is the origin of the decision.
	Source Source
	// Cause is why Stint did not decide, when Source is Fallback or Local; otherwise it is nil. If the call returned an
	// error, Cause is the same; if not, errors.Is(Cause, ErrUnavailable) holds, and ErrTimeout, ErrCircuitOpen and the
	// others give details.
	Cause error
}

// A Source is the origin of a decision.
type Source uint8

const (
	// Server says that Stint decided.
	Server Source = iota
	// Leased says that the tokens came from a lease, which Stint had granted before.
	Leased
	// Local says that Stint did not answer, and this process's share of the limit decided; see LocalShare.
	Local
	// Fallback says that Stint did not answer, and the limiter's Policy allowed or denied the request; or the request
	// was invalid, and denied.
	Fallback
)

func (s Source) String() string {
	switch s {
	case Server:
		return "server"
	case Leased:
		return "leased"
	case Local:
		return "local"
	default:
		return "fallback"
	}
}

var errReply = errors.New("stint: the reply has an unknown form; is this a Stint server?")

func integers(reply any, count int) ([]int64, error) {
	values, ok := reply.([]any)
	if !ok || len(values) != count {
		return nil, fmt.Errorf("%w (%v)", errReply, reply)
	}
	numbers := make([]int64, count)
	for i, value := range values {
		if numbers[i], ok = value.(int64); !ok {
			return nil, fmt.Errorf("%w (%v)", errReply, reply)
		}
	}
	return numbers, nil
}

// parseResult reads the five integers of an acquire, and the sixth of a limit that warns.
func (l Limit) parseResult(reply any, asked int64) (Result, error) {
	count := 5
	if l.hasWarn() {
		count++
	}
	n, err := integers(reply, count)
	if err != nil {
		return Result{}, err
	}
	if l.algorithm == gcra { // limited, limit, remaining, retry_after_s, reset_after_s
		r := Result{Allowed: n[0] == 0, Limit: n[1], Remaining: n[2], ResetAfter: time.Duration(n[4]) * time.Second}
		if r.Allowed {
			r.Granted = asked
		} else {
			r.RetryAfter = wait(n[3], time.Second)
		}
		return r, nil
	}
	r := Result{Allowed: n[0] > 0, Granted: n[0], Limit: n[1], Remaining: n[2], ResetAfter: wait(n[4], time.Millisecond), Warn: l.hasWarn() && n[count-1] == 1}
	if r.Allowed {
		r.Wait = wait(n[3], time.Millisecond)
	} else {
		r.RetryAfter = wait(n[3], time.Millisecond)
		r.NeedsPayment = l.algorithm == balance && r.RetryAfter == Never
	}
	return r, nil
}

func wait(n int64, unit time.Duration) time.Duration {
	if n < 0 {
		return Never
	}
	return time.Duration(n) * unit
}

// A MultiResult is the answer to a request that several limits had to allow.
type MultiResult struct {
	// Allowed reports whether to go ahead.
	Allowed bool
	// Granted is the number of tokens taken from each limit without a cost, 0 when denied.
	Granted int64
	// Binding is the position, from 0, of the limit that denied, the one with the longest wait if several did. For a
	// policy in shadow mode it is the limit that would have denied. Otherwise it is -1.
	Binding int
	// RetryAfter is, after a denial, the time until the same request would be allowed if no other caller takes tokens;
	// or Never.
	RetryAfter time.Duration
	// NeedsPayment says, after a denial, that waiting does not help: the balance lacks credits, and a payment adds them.
	// Of a policy it is known with [Request].Split only.
	NeedsPayment bool
	// Wait is, after a grant, the time to wait before going ahead: the longest wait among the limits. It is 0 except
	// with a queue and with [Request].MaxWait.
	Wait time.Duration
	// Limits is the state of each limit, in the order given. When Source is Fallback it is empty.
	Limits []LimitState
	// Source is the origin of the decision, and Cause the reason if Stint did not decide.
	Source Source
	Cause  error
}

// LimitState is the state of one of several limits.
type LimitState struct {
	Limit      int64         // the largest number that can be granted at once
	Remaining  int64         // whole tokens left
	ResetAfter time.Duration // time until the key is at its full limit
	Warn       bool          // the use has reached the limit's threshold; of a policy, with [Request].ShowWarn
	Granted    int64         // tokens taken from it, where the last limit is a [Balance]; with [Request].Split only
}

// Result is the answer in the form of a single limit's: that of the limit that denied or, if none did, of the limit
// with the smallest remaining fraction.
func (m MultiResult) Result() Result {
	r := Result{Allowed: m.Allowed, Granted: m.Granted, RetryAfter: m.RetryAfter, NeedsPayment: m.NeedsPayment, Wait: m.Wait, Source: m.Source, Cause: m.Cause}
	if len(m.Limits) == 0 {
		return r
	}
	tightest := m.Limits[0]
	for _, state := range m.Limits {
		r.Warn = r.Warn || state.Warn
		if float64(state.Remaining)*float64(tightest.Limit) < float64(tightest.Remaining)*float64(state.Limit) {
			tightest = state
		}
	}
	if !m.Allowed && m.Binding >= 0 && m.Binding < len(m.Limits) {
		tightest = m.Limits[m.Binding]
	}
	r.Limit, r.Remaining, r.ResetAfter = tightest.Limit, tightest.Remaining, tightest.ResetAfter
	return r
}

// parseMulti reads the reply of RL.ALL, RL.CHECK and RL.EXTEND, which has a fifth part: the tokens reserved in all.
// bought says that the last limit is known to be a balance; a reply with SPLIT shows it.
func parseMulti(reply any, bought bool) (MultiResult, error) {
	values, ok := reply.([]any)
	if !ok || len(values) < 4 || len(values) > 5 {
		return MultiResult{}, fmt.Errorf("%w (%v)", errReply, reply)
	}
	n, err := integers(values[:3], 3)
	if err != nil {
		return MultiResult{}, err
	}
	limits, ok := values[3].([]any)
	if !ok {
		return MultiResult{}, fmt.Errorf("%w (%v)", errReply, reply)
	}
	m := MultiResult{Allowed: n[0] > 0, Granted: n[0], Binding: int(n[1]), Limits: make([]LimitState, len(limits))}
	if after := wait(n[2], time.Millisecond); m.Allowed {
		m.Wait = after
	} else {
		m.RetryAfter = after
	}
	for i, limit := range limits {
		values, _ := limit.([]any)
		state, err := integers(limit, min(max(3, len(values)), 5)) // the fourth is warn, and the fifth what SPLIT shows
		if err != nil {
			return MultiResult{}, err
		}
		m.Limits[i] = LimitState{Limit: state[0], Remaining: state[1], ResetAfter: wait(state[2], time.Millisecond), Warn: len(state) > 3 && state[3] == 1}
		if len(state) == 5 {
			m.Limits[i].Granted, bought = state[4], true
		}
	}
	m.NeedsPayment = bought && m.RetryAfter == Never && m.Binding == len(m.Limits)-1
	return m, nil
}
