package layout

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/limits"
)

// Meter is the state that GCRA, token bucket and leaky bucket share: the theoretical arrival time (TAT) of ATM Forum
// TM 4.0, annex "GCRA", read as the instant at which the bucket is full again. Between whole nanoseconds it keeps the
// remainder as a fraction of the rate, so that N tokens per P is exact for every N and P and never drifts.
//
// All arithmetic is in ticks: one tick is 1/N of a nanosecond. A token is P ticks, a nanosecond is N ticks, and both
// are whole numbers.
type Meter struct {
	tat  int64  // nanoseconds since the Unix epoch
	frac uint64 // ticks beyond tat, less than N
}

// MeterBytes is the size of the state of a [Meter].
const MeterBytes = 16

// LoadMeter reads the state of a meter.
func LoadMeter(state []byte) Meter {
	return Meter{int64(binary.LittleEndian.Uint64(state)), binary.LittleEndian.Uint64(state[8:]) &^ warned}
}

// Store writes the state of the meter.
func (m Meter) Store(state []byte) {
	binary.LittleEndian.PutUint64(state, uint64(m.tat))
	binary.LittleEndian.PutUint64(state[8:], m.frac)
}

// IsFull reports whether the meter holds no information at now: nothing is taken.
func (m Meter) IsFull(now int64) bool {
	return m.tat < now || m.tat == now && m.frac == 0
}

// Taken returns the tokens taken at now, in ticks of the rate.
func (m Meter) Taken(now int64, rate limits.Rate) uint128.Int {
	if m.IsFull(now) {
		return uint128.Int{}
	}
	return uint128.Product(uint64(m.tat)-uint64(now), uint64(rate.Tokens)).Plus(uint128.Int{Lo: m.frac})
}

// MeterAfter returns the meter from which the given ticks are taken at now.
func MeterAfter(now int64, ticks uint128.Int, rate limits.Rate) Meter {
	nanos, frac := ticks.Divide(uint64(rate.Tokens))
	return Meter{now + int64(nanos), frac}
}

// CarryOver converts ticks taken at one rate to ticks at another, so that the tokens taken stay the same. It rounds up
// to a whole tick; because every later quantity is a whole number of ticks too, no decision differs from that of the
// unrounded fraction. Only a clock that went back can show more than a capacity and a debt of MaxTokens each as taken;
// that much is carried.
func CarryOver(ticks uint128.Int, from, to limits.Rate) uint128.Int {
	if from.Period == to.Period {
		return ticks // a token is as many ticks as before
	}
	ticks = uint128.Min(ticks, uint128.Product(2*limits.MaxTokens, uint64(from.Period)))
	tokens, rest := ticks.Divide(uint64(from.Period))
	part := uint128.Product(rest, uint64(to.Period)).DivideUp(uint64(from.Period))
	return uint128.Product(tokens, uint64(to.Period)).Plus(uint128.Int{Lo: uint64(part)})
}

// VariableHead is the number of bytes that hold the size, in front of a state of varying size.
const VariableHead = 4

// SetVariableSize stores the size of a state that varies, in its first 4 bytes.
func SetVariableSize(state []byte, size int) { binary.LittleEndian.PutUint32(state, uint32(size)) }
