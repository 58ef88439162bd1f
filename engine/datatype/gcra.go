package datatype

import (
	"encoding/binary"
	"math"
)

// GCRA is the state of Redis's command GCRA: its theoretical arrival time, in microseconds since the Unix epoch, as 8
// bytes, little-endian. The arithmetic is that of its source, which is not that of CL.THROTTLE here: whole
// microseconds, on a clock of milliseconds. See redis/redis#14826.
type GCRA []byte

const gcraBytes = 8

// ValidGCRA reports whether data is such a state.
func ValidGCRA(data []byte) bool {
	return len(data) == gcraBytes && GCRA(data).ArrivalTime() >= 0
}

// GCRAOf is the state with an arrival time.
func GCRAOf(arrivalUs int64) GCRA {
	return binary.LittleEndian.AppendUint64(nil, uint64(arrivalUs))
}

// ArrivalTime is the theoretical arrival time, in microseconds.
func (g GCRA) ArrivalTime() int64 { return int64(binary.LittleEndian.Uint64(g)) }

// GCRARequest is a request of the command GCRA.
type GCRARequest struct {
	Burst           int64   // the most tokens at once: max_burst + 1, unless that exceeds an int64
	TokensPerPeriod int64   // at least 1
	PeriodSeconds   float64 // above 0, below 1e12
	Tokens          int64   // at least 1
}

// GCRAOverflow says which parameters are too large together.
type GCRAOverflow uint8

// The overflows.
const (
	NoOverflow GCRAOverflow = iota
	TokensOverflow
	BurstOverflow
)

// GCRADecision is the answer to a request.
type GCRADecision struct {
	Limited      bool
	Remaining    int64 // tokens that are left
	RetrySeconds int64 // until the request would be granted; -1 if it was, or never will be
	FullSeconds  int64 // until all tokens are back
	ArrivalUs    int64 // the new arrival time of a granted request
}

// Decide answers a request at a time, given the arrival time of its key, which is that time if there is no key. Both
// are in microseconds.
func (r *GCRARequest) Decide(nowUs, arrivalUs int64) (d GCRADecision, overflow GCRAOverflow) {
	interval := r.interval()
	base := max(nowUs, arrivalUs)
	switch {
	case interval > math.MaxInt64/r.Tokens:
		return d, TokensOverflow
	case interval > math.MaxInt64/r.Burst:
		return d, BurstOverflow
	case math.MaxInt64-base < interval*r.Tokens:
		return d, TokensOverflow
	}
	increment, tolerance := interval*r.Tokens, interval*r.Burst
	d.ArrivalUs, d.RetrySeconds = base+increment, -1
	wait, full := d.ArrivalUs-tolerance-nowUs, d.ArrivalUs-nowUs
	if d.Limited = wait > 0; d.Limited {
		if full = arrivalUs - nowUs; increment <= tolerance {
			d.RetrySeconds = secondsUp(wait)
		}
	}
	if next := tolerance - full; next > 0 {
		d.Remaining = next / interval
	}
	d.FullSeconds = secondsUp(full)
	return d, NoOverflow
}

// interval is the emission interval, to the nearest microsecond.
func (r *GCRARequest) interval() int64 {
	us := float64(r.PeriodSeconds*1e6) / float64(r.TokensPerPeriod) // a conversion keeps a compiler from joining operations
	return max(1, int64(us+0.5))
}

// secondsUp rounds up as Redis does, by way of a double.
func secondsUp(us int64) int64 { return int64(math.Ceil(float64(us) / 1e6)) }
