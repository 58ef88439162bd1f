package data

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/server/command"
)

// Redis computes fractions in a C long double, which on x86 has 64 bits of mantissa and these exponents. Numbers above
// are infinite, and numbers below are 0.
const (
	longDoubleBits   = 64
	longDoubleMinExp = -16445
	longDoubleMaxExp = 16384
	longDoubleChars  = 5 << 10 // the longest text of a number
)

// MaxLongDouble is the largest long double that is not infinite.
var MaxLongDouble = NewLongDouble().SetMantExp(NewLongDouble().SetInt(new(big.Int).SetUint64(math.MaxUint64)), longDoubleMaxExp-longDoubleBits)

// NewLongDouble returns a zero with the precision of a long double.
func NewLongDouble() *big.Float { return new(big.Float).SetPrec(longDoubleBits) }

// IsInfinite reports whether a number is infinite as a long double.
func IsInfinite(f *big.Float) bool { return f.IsInf() || f.MantExp(nil) > longDoubleMaxExp }

// ParseLongDouble parses a number as strtold does, but without leading blanks.
func ParseLongDouble(b []byte, f *big.Float) bool {
	if len(b) == 0 || len(b) >= longDoubleChars {
		return false
	}
	text := strings.ToLower(string(b))
	unsigned := text
	if text[0] == '+' || text[0] == '-' {
		unsigned = text[1:]
	}
	if unsigned == "inf" || unsigned == "infinity" {
		f.SetInf(text[0] == '-')
		return true
	}
	hexadecimal := strings.HasPrefix(unsigned, "0x")
	if strings.ContainsRune(text, '_') || !hexadecimal && strings.ContainsAny(text, "bop") { // only Go has such numbers
		return false
	}
	if _, _, err := f.Parse(text, 0); err != nil {
		return false
	}
	if f.Sign() == 0 { // a number too small for a big.Float is an error, and 0 is not
		exponent := "e"
		if hexadecimal {
			exponent = "p"
		}
		digits, _, _ := strings.Cut(strings.TrimPrefix(unsigned, "0x"), exponent)
		return !strings.ContainsAny(digits, "123456789abcdef")
	}
	exponent := f.MantExp(nil)
	return !f.IsInf() && exponent > longDoubleMinExp && exponent <= longDoubleMaxExp
}

// AddLongDouble adds by to sum, and reports whether both numbers and the result are finite.
func AddLongDouble(sum, by *big.Float) (ok bool) {
	if sum.IsInf() || by.IsInf() {
		return false
	}
	return sum.Add(sum, by).MantExp(nil) <= longDoubleMaxExp
}

// AppendLongDouble formats a number with at most 17 digits after the point, as Redis does.
func AppendLongDouble(b []byte, f *big.Float) []byte {
	start := len(b)
	b = f.Append(b, 'f', 17)
	if bytes.IndexByte(b[start:], '.') >= 0 {
		b = append(b[:start], bytes.TrimRight(b[start:], "0")...)
		b = append(b[:start], bytes.TrimSuffix(b[start:], []byte("."))...)
	}
	if string(b[start:]) == "-0" {
		b = append(b[:start], '0')
	}
	return b
}

// ParseScore parses a number as Redis parses scores: no blanks, nothing after the number, no overflow or underflow.
func ParseScore(b []byte) (score float64, ok bool) {
	if n, ok := command.ParseRedisInt(b); ok {
		return float64(n), true
	}
	score, exact, ok := ParseDouble(string(b))
	return score, ok && exact
}

// ParseDouble parses a decimal or hexadecimal number as strtod does, but without leading blanks. exact is false if the
// number is too large, so f is infinite, or too small, so f is 0.
func ParseDouble(text string) (f float64, exact, ok bool) {
	if f, ok = ctext.ReadShort(text); ok { // most have few digits and no exponent
		return f, true, true
	}
	text = strings.ToLower(text)
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	if unsigned := len(text) - len(digits); unsigned > 1 || digits == "" || strings.Contains(text, "_") {
		return 0, false, false
	}
	if digits == "inf" || digits == "infinity" {
		return math.Inf(1 - 2*strings.Count(text, "-")), true, true
	}
	exponent := "e"
	if strings.HasPrefix(digits, "0x") {
		if exponent = "p"; !strings.Contains(digits, "p") {
			text += "p0"
		}
		digits = digits[2:]
	}
	f, err := strconv.ParseFloat(text, 64)
	if math.IsNaN(f) || err != nil && !math.IsInf(f, 0) {
		return 0, false, false
	}
	mantissa, _, _ := strings.Cut(digits, exponent)
	return f, err == nil && (f != 0 || strings.Trim(mantissa, "0.") == ""), true
}
