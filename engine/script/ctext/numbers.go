// Package ctext reads and writes text as the library of C does, on which Lua 5.1 is built: numbers, and classes of bytes.
package ctext

import (
	"math"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/digits"
)

// maxNumeral is the longest text of a number.
const maxNumeral = 512

// ReadPrice is the price of reading a numeral: 0 for one of few digits without an exponent. Others may have to be computed
// with all of their digits, to which the exponent adds its own number.
func ReadPrice(s string) int {
	digits := min(len(s), maxNumeral)
	at := strings.IndexAny(s[:digits], "eE")
	if at < 0 && digits < 20 {
		return 0
	}
	exponent := 0
	if at >= 0 {
		for _, c := range []byte(s[at+1 : digits]) {
			if IsDigit(c) {
				exponent = min(10*exponent+int(c-'0'), 400)
			}
		}
	}
	return longDigits(digits + exponent)
}

// longDigits is the price of computing with all digits of a number, of which there are some n.
func longDigits(n int) int { return 4 + n*n/150 }

// WritePrice is the price of writing a number with a precision: 0 if it takes no more digits than a float is sure to have.
func WritePrice(x float64, precision int, conversion byte) int {
	if conversion|0x20 != 'f' && precision <= 17 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	_, exponent := math.Frexp(x) // binary; a decimal one is a third of it
	if exponent < 0 {
		exponent = -exponent
	}
	return longDigits(precision + exponent/3)
}

// ReadNumber reads a number as Lua does with C's strtod: it accepts blanks around the number, hexadecimal digits, "inf" and
// "nan". A zero byte ends the text.
func ReadNumber(s string) (float64, bool) {
	if x, ok := ReadShort(s); ok {
		return x, true
	}
	digits, isNegative, ok := numeral(s)
	sign := 1.0
	if isNegative {
		sign = -1
	}
	switch {
	case !ok:
		return 0, false
	case strings.EqualFold(digits, "inf") || strings.EqualFold(digits, "infinity"):
		return math.Inf(int(sign)), true
	case strings.EqualFold(digits, "nan"):
		return math.NaN(), true
	case len(digits) > 1 && digits[0] == '0' && digits[1]|0x20 == 'x':
		if end := NumeralEnd(digits[2:], IsHex, 'p'); end != len(digits)-2 {
			return 0, false
		}
		if !strings.ContainsAny(digits, "pP") {
			digits += "p0"
		}
	default:
		if end := NumeralEnd(digits, IsDigit, 'e'); end != len(digits) {
			return 0, false
		}
	}
	number, err := strconv.ParseFloat(digits, 64)
	if err != nil && !math.IsInf(number, 0) {
		return 0, false
	}
	return sign * number, true
}

// numeral is the text of a number without blanks and its sign. ok is false for one that is too long.
func numeral(s string) (digits string, isNegative, ok bool) {
	if len(s) > maxNumeral {
		return "", false, false
	}
	s, _, _ = strings.Cut(s, "\x00")
	s = strings.Trim(s, " \t\n\v\f\r")
	if isNegative = strings.HasPrefix(s, "-"); isNegative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	return s, isNegative, true
}

// NumeralEnd returns the end of the digits, fraction and exponent at the start of s, or -1 when there are none.
func NumeralEnd(s string, digit func(byte) bool, exponent byte) int {
	i, digits := 0, 0
	for ; i < len(s) && digit(s[i]); i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && digit(s[i]); i++ {
			digits++
		}
	}
	if digits == 0 {
		return -1
	}
	if i < len(s) && s[i]|0x20 == exponent {
		end := i + 1
		if end < len(s) && (s[end] == '+' || s[end] == '-') {
			end++
		}
		if end < len(s) && IsDigit(s[end]) {
			for i = end; i < len(s) && IsDigit(s[i]); i++ {
			}
		}
	}
	return i
}

// AppendNumber appends a number as C's "%.*g" writes it. Every NaN is "-nan": an operation without a result yields that NaN
// on x86-64.
func AppendNumber(dst []byte, x float64, precision int) []byte {
	most := int64(powersOfTen[max(precision, 14)]) // whole numbers below have no exponent
	if n := int64(x); float64(n) == x && n > -most && n < most && (n != 0 || !math.Signbit(x)) {
		return digits.Append(dst, n)
	}
	switch {
	case math.IsNaN(x):
		return append(dst, "-nan"...)
	case math.IsInf(x, 1):
		return append(dst, "inf"...)
	case math.IsInf(x, -1):
		return append(dst, "-inf"...)
	}
	if out, ok := appendDecimal(dst, x, precision); ok {
		return out
	}
	return strconv.AppendFloat(dst, x, 'g', precision, 64)
}

// OneNaN is the number, or for any NaN the one that an operation without a result yields on x86-64. Which one an operation
// yields, and whether it has a sign, differs between processors.
func OneNaN(x float64) float64 {
	if math.IsNaN(x) {
		return math.Float64frombits(0xfff8 << 48)
	}
	return x
}

// NumberText is the text of a number in a script: tostring, "..", and every function that wants a string.
func NumberText(x float64) string {
	var buffer [32]byte
	return string(AppendNumber(buffer[:0], x, 14))
}

// ToInt64 converts as C does on x86-64: it rounds toward zero, and a number beyond int64 becomes the least int64.
func ToInt64(x float64) int64 {
	if x >= -(1<<63) && x < 1<<63 {
		return int64(x)
	}
	return math.MinInt64
}

// ToUint64 is ToInt64 for an unsigned number: one beyond uint64 becomes 0.
func ToUint64(x float64) uint64 {
	switch n := uint64(ToInt64(x)); {
	case x >= 1<<63 && x < 1<<64:
		return uint64(x)
	case x > 0 && n == 1<<63:
		return 0
	default:
		return n
	}
}

// ReadInteger reads as C's strtoul does: blanks, a sign, which wraps around, and the largest number for one that is too large.
func ReadInteger(s string, base int) (float64, bool) {
	s, negative, ok := numeral(s)
	if !ok {
		return 0, false
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' && IsHex(s[2]) {
		s = s[2:]
	}
	var n uint64
	over := false
	for i := range len(s) {
		digit := 99
		switch c := s[i]; {
		case IsDigit(c):
			digit = int(c - '0')
		case IsAlpha(c):
			digit = int(c|0x20-'a') + 10
		}
		if digit >= base {
			return 0, false
		}
		over = over || n > (math.MaxUint64-uint64(digit))/uint64(base)
		n = n*uint64(base) + uint64(digit)
	}
	if over {
		n = math.MaxUint64
	} else if negative {
		n = -n
	}
	return float64(n), s != ""
}
