package script

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxNumeral is the longest text of a number.
const maxNumeral = 512

// numeralPrice is the price of reading a numeral: 0 for one of few digits without an exponent. Others may have to be computed
// with all of their digits, to which the exponent adds its own number.
func numeralPrice(s string) int {
	digits := min(len(s), maxNumeral)
	at := exponentAt(s[:digits])
	if at < 0 && digits < 20 {
		return 0
	}
	exponent := 0
	if at >= 0 {
		for _, c := range []byte(s[at+1 : digits]) {
			if isDigit(c) {
				exponent = min(10*exponent+int(c-'0'), 400)
			}
		}
	}
	return longDigits(digits + exponent)
}

// exponentAt is the place of the letter before an exponent, -1 for none.
func exponentAt(s string) int {
	for i := range len(s) {
		if s[i]|0x20 == 'e' {
			return i
		}
	}
	return -1
}

// longDigits is the price of computing with all digits of a number, of which there are some n.
func longDigits(n int) int { return 4 + n*n/150 }

// formatPrice is the price of writing a number with a precision: 0 if it takes no more digits than a float is sure to have.
func formatPrice(x float64, precision int, conversion byte) int {
	if conversion|0x20 != 'f' && precision <= 17 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	_, exponent := math.Frexp(x) // binary; a decimal one is a third of it
	if exponent < 0 {
		exponent = -exponent
	}
	return longDigits(precision + exponent/3)
}

// parseNumber is readNumber for a script, which pays for it.
func (r *run) parseNumber(L *lua.LState, s string) (float64, bool) {
	if price := numeralPrice(s); price > 0 {
		r.charge(L, price)
	}
	return readNumber(s)
}

// readNumber reads a number as Lua does with C's strtod: it accepts blanks around the number, hexadecimal digits, "inf" and
// "nan". A zero byte ends the text.
func readNumber(s string) (float64, bool) {
	if len(s) > 0 && len(s) < 16 { // most texts are short whole numbers
		n := 0
		for i := 0; ; i++ {
			if i == len(s) {
				return float64(n), true
			}
			if !isDigit(s[i]) {
				break
			}
			n = n*10 + int(s[i]-'0')
		}
	}
	if len(s) > maxNumeral {
		return 0, false
	}
	if end := strings.IndexByte(s, 0); end >= 0 {
		s = s[:end]
	}
	s = strings.Trim(s, " \t\n\v\f\r")
	sign, digits := 1.0, s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		digits = s[1:]
		if s[0] == '-' {
			sign = -1
		}
	}
	switch {
	case strings.EqualFold(digits, "inf") || strings.EqualFold(digits, "infinity"):
		return math.Inf(int(sign)), true
	case strings.EqualFold(digits, "nan"):
		return math.NaN(), true
	case len(digits) > 1 && digits[0] == '0' && digits[1]|0x20 == 'x':
		if end := numeralEnd(digits[2:], isHex, 'p'); end != len(digits)-2 {
			return 0, false
		}
		if !strings.ContainsAny(digits, "pP") {
			digits += "p0"
		}
	default:
		if end := numeralEnd(digits, isDigit, 'e'); end != len(digits) {
			return 0, false
		}
	}
	number, err := strconv.ParseFloat(digits, 64)
	if err != nil && !math.IsInf(number, 0) {
		return 0, false
	}
	return sign * number, true
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// numeralEnd returns the end of the digits, fraction and exponent at the start of s, or -1 when there are none.
func numeralEnd(s string, digit func(byte) bool, exponent byte) int {
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
		if end < len(s) && isDigit(s[end]) {
			for i = end; i < len(s) && isDigit(s[i]); i++ {
			}
		}
	}
	return i
}

// appendNumber appends a number as C's "%.*g" writes it. Every NaN is "-nan": an operation without a result yields that NaN
// on x86-64.
func appendNumber(dst []byte, x float64, precision int) []byte {
	if n := int64(x); float64(n) == x && n > -1e14 && n < 1e14 && (n != 0 || !math.Signbit(x)) {
		return strconv.AppendInt(dst, n, 10)
	}
	switch {
	case math.IsNaN(x):
		return append(dst, "-nan"...)
	case math.IsInf(x, 1):
		return append(dst, "inf"...)
	case math.IsInf(x, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, x, 'g', precision, 64)
}

// numberText is the text of a number in a script: tostring, "..", and every function that wants a string.
func numberText(x float64) string {
	var buffer [32]byte
	return string(appendNumber(buffer[:0], x, 14))
}

// toInt64 converts as C does on x86-64: it rounds toward zero, and a number beyond int64 becomes the least int64.
func toInt64(x float64) int64 {
	if x >= -(1<<63) && x < 1<<63 {
		return int64(x)
	}
	return math.MinInt64
}

// toUint64 is toInt64 for an unsigned number: one beyond uint64 becomes 0.
func toUint64(x float64) uint64 {
	switch n := uint64(toInt64(x)); {
	case x >= 1<<63 && x < 1<<64:
		return uint64(x)
	case x > 0 && n == 1<<63:
		return 0
	default:
		return n
	}
}
