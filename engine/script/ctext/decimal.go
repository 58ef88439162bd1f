package ctext

import (
	"math"
	"math/bits"

	"github.com/stintdb/stint/engine/digits"
)

// Most numbers of scripts have less than 20 digits and no exponent: counts, times, and tokens with a fraction. They are
// read and written here with integers of 64 and 128 bits, exactly as strconv does it with all its cases.

var powersOfTen = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// ReadShort is [ReadNumber] for up to 19 digits with at most one point among them, of which [ReadPrice] is 0.
func ReadShort(s string) (x float64, ok bool) {
	if len(s) == 0 || len(s) > 19 {
		return 0, false
	}
	n, places := uint64(0), 0
	i := 0
	if len(s) >= 8 {
		n, i = digits.ReadEights(s)
	}
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		n = n*10 + uint64(s[i]-'0')
	}
	if i == 0 {
		return 0, false
	}
	if i < len(s) {
		if s[i] != '.' {
			return 0, false
		}
		places = len(s) - 1 - i
		for i++; i < len(s); i++ {
			if s[i]-'0' > 9 {
				return 0, false
			}
			n = n*10 + uint64(s[i]-'0')
		}
	}
	if places == 0 {
		return float64(n), true
	}
	return quotient(n, powersOfTen[places]), true
}

// quotient is a/b for a power of ten, rounded once to the nearest float.
func quotient(a, b uint64) float64 {
	if a < 1<<53 {
		return float64(a) / float64(b) // both are exact, as powers of ten are up to 10^22 (Clinger 1990)
	}
	up, down := bits.LeadingZeros64(a), bits.LeadingZeros64(b)
	a, b = a<<up, b<<down
	q, rest := bits.Div64(a>>1, a<<63, b) // has 63 or 64 bits
	if rest != 0 {
		q |= 1 // below the bits that a float has, so it is rounded like all digits of the quotient
	}
	return float64(q) * math.Float64frombits(uint64(1023+down-up-63)<<52)
}

// appendDecimal appends a number as "%.*g" does. It takes numbers from 1/1000 to below 10^14, of which the integer part and
// the fraction have at most 64 bits each.
func appendDecimal(dst []byte, x float64, precision int) (out []byte, ok bool) {
	if x < 0 {
		dst, x = append(dst, '-'), -x
	}
	if !(x >= 1e-3 && x < 1e14) {
		return dst, false
	}
	whole := uint64(x)
	fraction := uint64((x - float64(whole)) * (1 << 32) * (1 << 32)) // exact: the bits of x below its integer part
	length := 0                                                      // of the digits before the point, or zeros after it if negative
	switch {
	case x < 0.01:
		length = -2
	case x < 0.1:
		length = -1
	}
	for length >= 0 && whole >= powersOfTen[length] {
		length++
	}
	places := precision - length
	if places <= 0 || places >= len(powersOfTen) {
		return dst, false
	}
	fractional, rest := bits.Mul64(fraction, powersOfTen[places])
	if rest > 1<<63 || rest == 1<<63 && fractional&1 == 1 {
		if fractional++; fractional == powersOfTen[places] {
			whole, fractional = whole+1, 0
		}
	}
	for places > 0 && fractional%10 == 0 {
		fractional, places = fractional/10, places-1
	}
	var text [20]byte
	at := len(text)
	for range places {
		at--
		text[at], fractional = byte('0'+fractional%10), fractional/10
	}
	if places > 0 {
		at--
		text[at] = '.'
	}
	return append(digits.Append(dst, int64(whole)), text[at:]...), true
}
