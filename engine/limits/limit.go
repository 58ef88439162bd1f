package limits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/internal/uint128"
)

const (
	// maxFill bounds the time an empty limiter takes to fill up, so that every time of arrival fits an int64.
	maxFill = 100 * 365 * 24 * int64(time.Hour)
	// MaxAhead bounds how far in the future a theoretical arrival time may lie: maxFill plus reservations and debts.
	MaxAhead = maxFill + 5*MaxDuration
)

// Errors of [Limit.Check].
var (
	ErrFillTime = errors.New("at this rate an empty limiter would take more than 100 years to fill, the most that can be kept")
	ErrLimit    = errors.New("a parameter of the limit is out of its bounds")
)

// Limit is an algorithm and its parameters. It is a comparable value.
type Limit struct {
	Algorithm Algorithm
	Span      Span            // FixedWindow: the position of its windows
	History   uint8           // FixedWindow: the closed windows that are kept, 0 to MaxHistory
	Segments  uint8           // SlidingSegments: the parts of the window, 2 to MaxSegments; 0 of others
	Rollover  uint8           // FixedWindow with a History, not FromFirst: percent of the capacity, 1 to MaxRollover, that a window at most adds to the next, of what it has left; 0 for none
	Warn      uint8           // percent of the capacity, 1 to MaxWarn: once that part is used, a warning is given; 0 for none
	Anchor    calendar.Anchor // FixedWindow: the zone and the beginning of its windows, if the Span has a [Span.Unit]
	Capacity  int64           // most tokens that can be granted at once, 1 to MaxTokens; Penalty: the denials that begin a ban
	Least     int64           // Adaptive: the fewest tokens to Rate.Period, 1 to Rate.Tokens; 0 of others
	Rate      Rate            // how fast tokens come back; of an algorithm without a rate, Period is the window or the lease, and Tokens is 0

	// Penalty: the length of a ban, and of the longest that doubling may make of it, in nanoseconds, Ban to MaxDuration; 0 of
	// others.
	Ban, LongestBan int64
}

// Is reports whether two limits are the same. Of keys that hold data, which have nothing but an algorithm, it costs next
// to nothing to ask.
func (l *Limit) Is(other *Limit) bool {
	return l.Algorithm == other.Algorithm && (l.Algorithm.IsValue() || *l == *other)
}

// Check reports whether a client may ask for the limit: nil, [ErrFillTime], or an error that wraps [ErrLimit] and names
// the parameter. The readers of logs, files and forwarded operations admit the same limits.
func (l Limit) Check() error {
	field := l.invalidField()
	switch {
	case l.Rate.Tokens > 0 && l.Capacity > 0 && l.Rate.Period > 0 && (!l.Algorithm.HasLeast() || l.Least > 0) && !l.fillsInTime():
		return ErrFillTime
	case field != "":
		return l.outOfBounds(field)
	case !l.Algorithm.Decides():
		return l.outOfBounds("algorithm")
	}
	return nil
}

func (l *Limit) outOfBounds(field string) error {
	return fmt.Errorf("%w: the %s, of algorithm %d, capacity %d, %d tokens per %d ns", ErrLimit, field, l.Algorithm, l.Capacity, l.Rate.Tokens, l.Rate.Period)
}

// The bits of the byte of the span in a written limit that has an Anchor, Warn or a History.
const (
	HasAnchor  = 0x80
	HasWarn    = 0x40
	HasHistory = 0x20
)

// Append appends the limit to b: algorithm and span in a byte each, capacity, tokens and period of the rate, Least or
// Segments where the algorithm has them, Ban and LongestBan too, the zone and beginning of the Anchor, if it is not zero, as varints; the
// History as AppendHistory writes it, and Warn in a byte, each unless it is zero.
func (l *Limit) Append(b []byte) []byte {
	span, hasAnchor := byte(l.Span), l.Anchor != calendar.Anchor{}
	if hasAnchor {
		span |= HasAnchor
	}
	if l.History != 0 {
		span |= HasHistory
	}
	if l.Warn != 0 {
		span |= HasWarn
	}
	b = append(b, byte(l.Algorithm), span)
	b = binary.AppendUvarint(b, uint64(l.Capacity))
	b = binary.AppendUvarint(b, uint64(l.Rate.Tokens))
	b = binary.AppendUvarint(b, uint64(l.Rate.Period))
	if l.Algorithm.HasLeast() {
		b = binary.AppendUvarint(b, uint64(l.Least))
	}
	if l.Algorithm == SlidingSegments {
		b = append(b, l.Segments)
	}
	if l.Algorithm == Penalty {
		b = l.AppendBan(b)
	}
	if hasAnchor {
		b = l.Anchor.Append(b)
	}
	if l.History != 0 {
		b = l.AppendHistory(b)
	}
	if l.Warn != 0 {
		b = append(b, l.Warn)
	}
	return b
}

// AppendBan appends Ban and LongestBan.
func (l *Limit) AppendBan(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(l.Ban)), uint64(l.LongestBan))
}

// HasRollover is the bit of the byte of a History which a byte of the Rollover follows.
const HasRollover = 0x80

// AppendHistory appends the History in a byte, and the Rollover in another unless it is zero.
func (l *Limit) AppendHistory(b []byte) []byte {
	if l.Rollover == 0 {
		return append(b, l.History)
	}
	return append(b, l.History|HasRollover, l.Rollover)
}

// fillsInTime reports whether an empty limiter is full within maxFill.
func (l *Limit) fillsInTime() bool {
	least := l.Rate.Tokens
	if l.Algorithm.HasLeast() {
		least = l.Least
	}
	return !uint128.Product(uint64(l.Capacity), uint64(l.Rate.Period)).Exceeds(uint128.Product(uint64(maxFill), uint64(max(0, least))))
}

// DurationOf returns how long n tokens take at a meter's rate, in nanoseconds, rounded down.
func (l Limit) DurationOf(n int64) int64 {
	nanos, _ := uint128.Product(uint64(n), uint64(l.Rate.Period)).Divide(uint64(l.Rate.Tokens))
	return int64(nanos)
}

// Valid reports whether a stored limit can be decided: every field is in its range and all fit together.
func (l *Limit) Valid() bool { return l.invalidField() == "" }

// IsAskable reports whether an operation may have the limit: it is valid, and its algorithm decides.
func (l *Limit) IsAskable() bool { return l.Valid() && l.Algorithm.Decides() }

// invalidField is the first field that is out of its range or does not fit the others, "" if the limit is valid.
func (l *Limit) invalidField() string {
	switch {
	case l.Algorithm == NoAlgorithm || !l.Algorithm.Known():
		return "algorithm"
	case l.Algorithm.IsValue() || l.Algorithm == Balance:
		if *l != (Limit{Algorithm: l.Algorithm}) {
			return "parameters"
		}
	case l.Capacity < 1 || l.Capacity > MaxTokens, l.Algorithm == Concurrency && l.Capacity > MaxHolders, l.Algorithm == SlidingLog && l.Capacity > MaxLogLimit:
		return "capacity"
	case l.Rate.Tokens < 0 || l.Rate.Tokens > MaxTokens || l.Algorithm.HasRate() != (l.Rate.Tokens > 0):
		return "tokens of the rate"
	case l.Span > EachYear || l.Span != FromFirst && l.Algorithm.Base() != FixedWindow || !l.anchorIsValid():
		return "position of the windows"
	case l.History > MaxHistory || l.History > 0 && l.Algorithm.Base() != FixedWindow || l.History == 0 && l.Algorithm == HistoryFixedWindow:
		return "number of closed windows"
	case l.Rollover > MaxRollover || l.Rollover > 0 && (l.History == 0 || l.Span == FromFirst):
		return "part that rolls over"
	case l.Algorithm.HasLeast() != (l.Least > 0) || l.Least < 0 || l.Least > l.Rate.Tokens:
		return "least rate"
	case (l.Algorithm == Penalty) != (l.Ban > 0) || l.Ban < 0 || l.LongestBan < l.Ban || l.LongestBan > MaxDuration || l.Ban == 0 && l.LongestBan != 0:
		return "ban"
	case l.Segments > MaxSegments || (l.Algorithm == SlidingSegments) != (l.Segments >= minSegments):
		return "number of segments"
	case l.Warn > MaxWarn || l.Warn != 0 && !l.Algorithm.Base().Warns():
		return "threshold of warnings"
	case l.Rate.Period < 0 || l.Rate.Period > MaxDuration || (l.Rate.Period == 0) != (l.Span > Aligned) || l.Rate.Tokens > 0 && !l.fillsInTime():
		return "period"
	}
	return ""
}

// MaxWarn and MaxRollover are all of a limit.
const (
	MaxWarn     = 100
	MaxRollover = 100
)

// WarnAt is the used tokens at which a warning is given, [Limit.Warn] percent of the capacity rounded up.
func (l *Limit) WarnAt() int64 { return (l.Capacity*int64(l.Warn) + MaxWarn - 1) / MaxWarn }

// MostRolledOver is the most tokens that a window adds to the next, [Limit.Rollover] percent of the capacity rounded
// down.
func (l *Limit) MostRolledOver() int64 { return l.Capacity * int64(l.Rollover) / MaxRollover }

// LeaderAllowance is the most tokens of a key that a cluster's leader takes in its memory alone: a quarter of the
// capacity, and too few to be warned of, because warnings are given by the log. It is 0 for limits that take longer
// than [MaxAllowanceTime] to be full again, because a change of the leader may cost that long, for those whose tokens
// cannot be lent, and for those with a History, which counts all that is taken.
func (l *Limit) LeaderAllowance() int64 {
	if !l.Algorithm.CanBeLent() || l.History > 0 {
		return 0
	}
	if l.Algorithm == FixedWindow {
		if l.Span != FromFirst || l.Rate.Period > maxAllowanceNanos {
			return 0
		}
	} else if uint128.Product(uint64(l.Capacity), uint64(l.Rate.Period)).Exceeds(uint128.Product(uint64(maxAllowanceNanos), uint64(l.Rate.Tokens))) {
		return 0
	}
	if most := l.Capacity / allowanceDivisor; l.Warn == 0 {
		return most
	} else {
		return min(most, l.WarnAt()-1)
	}
}

// MaxAllowanceTime is the longest that tokens of a leader's allowance stay taken.
const MaxAllowanceTime = time.Duration(maxAllowanceNanos)

// Bounds of the limits of which a leader takes tokens in its memory.
const (
	allowanceDivisor  = 4 // the divisor of the capacity
	maxAllowanceNanos = int64(10 * time.Second)
)

const (
	// MaxHolders bounds the limit of a concurrency limiter: each decision looks at every holder.
	MaxHolders = 10_000
	// MaxHistory bounds the closed windows that are kept of a key.
	MaxHistory = 36
	// MaxSegments bounds the parts of a window that is cut into segments: each decision looks at all of them.
	MaxSegments = 120
	minSegments = 2
	// MaxLogLimit bounds the capacity of a sliding log, so that its state has at most 32 MiB.
	MaxLogLimit = 2_097_150
)
