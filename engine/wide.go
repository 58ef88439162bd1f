package engine

import (
	"math"
	"math/bits"
)

// wide is an unsigned 128-bit integer. Products of tokens, periods and times need more than 64 bits; nothing in the
// engine wraps, because every bound in limit.go was chosen so that the sums below stay under 2^128.
type wide struct{ hi, lo uint64 }

func product(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	return wide{hi, lo}
}

func (a wide) plus(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return wide{hi, lo}
}

// minus returns a - b, or zero when b is larger.
func (a wide) minus(b wide) wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, borrow := bits.Sub64(a.hi, b.hi, borrow)
	if borrow != 0 {
		return wide{}
	}
	return wide{hi, lo}
}

func (a wide) over(b wide) bool { return a.hi > b.hi || a.hi == b.hi && a.lo > b.lo }

func (a wide) isZero() bool { return a.hi|a.lo == 0 }

func smaller(a, b wide) wide {
	if a.over(b) {
		return b
	}
	return a
}

// divide returns a/d and the remainder. A quotient beyond 63 bits is reported as the largest int64 with no remainder:
// it only arises for waits of more than 292 years, which have no better answer.
func (a wide) divide(d uint64) (quotient, remainder uint64) {
	if a.hi == 0 {
		return a.lo / d, a.lo % d
	}
	if a.hi >= d {
		return math.MaxInt64, 0
	}
	quotient, remainder = bits.Div64(a.hi, a.lo, d)
	if quotient > math.MaxInt64 {
		return math.MaxInt64, 0
	}
	return quotient, remainder
}

// divideUp is divide, rounded up to the next integer.
func (a wide) divideUp(d uint64) int64 {
	quotient, remainder := a.divide(d)
	if remainder != 0 && quotient < math.MaxInt64 {
		quotient++
	}
	if quotient > math.MaxInt64 {
		quotient = math.MaxInt64
	}
	return int64(quotient)
}
