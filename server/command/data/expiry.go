package data

import (
	"math"

	"github.com/stintdb/stint/server/command"
)

// ExpiryUnit says what the number of an expiry means. The zero value stands for no expiry.
type ExpiryUnit struct {
	millis  int64
	fromNow bool // and not since the Unix epoch
}

// The units of EX, PX, EXAT and PXAT.
var (
	InSeconds = ExpiryUnit{1000, true}
	InMillis  = ExpiryUnit{1, true}
	AtSeconds = ExpiryUnit{1000, false}
	AtMillis  = ExpiryUnit{1, false}
)

// IsGiven reports whether there is an expiry.
func (u ExpiryUnit) IsGiven() bool { return u.millis != 0 }

// ExpiryUnitOf returns the unit that a word names, the zero value if it names none.
func ExpiryUnitOf(word []byte) ExpiryUnit {
	switch {
	case command.IsWord(word, "EX"):
		return InSeconds
	case command.IsWord(word, "PX"):
		return InMillis
	case command.IsWord(word, "EXAT"):
		return AtSeconds
	case command.IsWord(word, "PXAT"):
		return AtMillis
	}
	return ExpiryUnit{}
}

// UnixMillis turns a number of units into Unix milliseconds. It reports false if they overflow.
func (u ExpiryUnit) UnixMillis(n, now int64) (ms int64, ok bool) {
	if n > math.MaxInt64/u.millis || n < math.MinInt64/u.millis {
		return 0, false
	}
	if ms = n * u.millis; !u.fromNow {
		return ms, true
	}
	return AddInts(ms, now/1e6)
}

// ExpiryNanos turns Unix milliseconds into nanoseconds, at most the last that 64 bits hold, in the year 2262.
func ExpiryNanos(ms int64) int64 {
	if ms > math.MaxInt64/1_000_000 {
		return math.MaxInt64
	}
	return ms * 1e6
}

// Expiry reads an expiry, which must be positive, and returns it in Unix nanoseconds. Otherwise it writes the error.
func (c *Call) Expiry(text []byte, unit ExpiryUnit) (at int64, ok bool) {
	n, ok := c.Integer(text)
	if !ok {
		return 0, false
	}
	ms, ok := unit.UnixMillis(n, c.Tx.Now())
	if !ok || n <= 0 {
		c.Fail(ErrExpireTime.With(c.Name()))
		return 0, false
	}
	return ExpiryNanos(ms), true
}
