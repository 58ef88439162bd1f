// Package uint128 is the arithmetic of products of tokens, periods and times, which need more than 64 bits.
package uint128

import (
	"math"
	"math/bits"
)

// Int is an unsigned integer, Hi*2^64 + Lo. Callers keep their sums below 2^128: nothing here checks for that.
type Int struct{ Hi, Lo uint64 }

// Product returns a*b.
func Product(a, b uint64) Int {
	hi, lo := bits.Mul64(a, b)
	return Int{hi, lo}
}

// Plus returns a + b.
func (a Int) Plus(b Int) Int {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(a.Hi, b.Hi, carry)
	return Int{hi, lo}
}

// Minus returns a - b, or zero when b is larger.
func (a Int) Minus(b Int) Int {
	lo, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	hi, borrow := bits.Sub64(a.Hi, b.Hi, borrow)
	if borrow != 0 {
		return Int{}
	}
	return Int{hi, lo}
}

// Exceeds reports whether a > b.
func (a Int) Exceeds(b Int) bool { return a.Hi > b.Hi || a.Hi == b.Hi && a.Lo > b.Lo }

// IsZero reports whether a is 0.
func (a Int) IsZero() bool { return a.Hi|a.Lo == 0 }

// Min returns the smaller of a and b.
func Min(a, b Int) Int {
	if a.Exceeds(b) {
		return b
	}
	return a
}

// Divide returns a/d and the remainder. A quotient of more than 63 bits is returned as the largest int64, with no
// remainder: as nanoseconds it is a wait of more than 292 years.
func (a Int) Divide(d uint64) (quotient, remainder uint64) {
	if a.Hi == 0 {
		return a.Lo / d, a.Lo % d
	}
	if a.Hi >= d {
		return math.MaxInt64, 0
	}
	quotient, remainder = bits.Div64(a.Hi, a.Lo, d)
	if quotient > math.MaxInt64 {
		return math.MaxInt64, 0
	}
	return quotient, remainder
}

// DivideUp is Divide, rounded up to the next integer.
func (a Int) DivideUp(d uint64) int64 {
	quotient, remainder := a.Divide(d)
	if remainder != 0 && quotient < math.MaxInt64 {
		quotient++
	}
	return int64(min(quotient, math.MaxInt64))
}

// Shift returns a * 2^n, for n below 64.
func (a Int) Shift(n uint) Int { return Int{a.Hi<<n | a.Lo>>(64-n), a.Lo << n} }

// Times returns a * b.
func (a Int) Times(b uint64) Int {
	low := Product(a.Lo, b)
	low.Hi += a.Hi * b
	return low
}
