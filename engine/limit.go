package engine

import (
	"errors"
	"time"
)

const (
	// MaxTokens bounds a capacity, a rate's tokens, and the tokens of one request.
	MaxTokens = 1_000_000_000_000
	// maxFill bounds the time an empty limiter takes to fill up, so that every time of arrival fits an int64.
	maxFill = 100 * 365 * 24 * int64(time.Hour)
	// maxAhead bounds how far in the future a theoretical arrival time may lie: maxFill plus reservations and debts.
	maxAhead = maxFill + 5*MaxDuration
)

// ErrFillTime refuses a capacity that its rate would need more than 100 years to fill.
var ErrFillTime = errors.New("at this rate an empty limiter would take more than 100 years to fill, the most that can be kept")

// Limit is what a request asks to be held to: an algorithm and its parameters. It is a comparable value.
type Limit struct {
	Algorithm Algorithm
	Span      Span  // FixedWindow: how its windows lie
	Capacity  int64 // most tokens that can be granted at once, 1 to MaxTokens
	Rate      Rate  // how fast tokens come back; of an algorithm without a rate, Period is the window or the lease, and Tokens is 0
}

// Check reports whether the limit can be kept exactly. Ranges of single parameters are checked where they are read;
// what is left is the one thing only the whole shows, [ErrFillTime].
func (l Limit) Check() error {
	if l.Rate.Tokens == 0 {
		return nil
	}
	fill := product(uint64(l.Capacity), uint64(l.Rate.Period))
	if fill.over(product(uint64(maxFill), uint64(l.Rate.Tokens))) {
		return ErrFillTime
	}
	return nil
}

// DurationOf returns how long n tokens take at a meter's rate, in nanoseconds, rounded down.
func (l Limit) DurationOf(n int64) int64 {
	nanos, _ := product(uint64(n), uint64(l.Rate.Period)).divide(uint64(l.Rate.Tokens))
	return int64(nanos)
}
