package data

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/stintdb/stint/server/command"
)

// A long double of C, on x86, in which Redis counts fractions: its digits in bits, and the exponents between which it is
// neither infinite nor 0.
const (
	longDoubleBits   = 64
	longDoubleMinExp = -16445
	longDoubleMaxExp = 16384
	longDoubleChars  = 5 << 10 // of its text
)

// MaxLongDouble is the largest number that is not infinite.
var MaxLongDouble = NewLongDouble().SetMantExp(NewLongDouble().SetInt(new(big.Int).SetUint64(math.MaxUint64)), longDoubleMaxExp-longDoubleBits)

func NewLongDouble() *big.Float { return new(big.Float).SetPrec(longDoubleBits) }

// IsInfinite reports whether a sum would be infinite as a long double.
func IsInfinite(f *big.Float) bool { return f.IsInf() || f.MantExp(nil) > longDoubleMaxExp }

// ParseLongDouble reads a number as strtold does, without blanks in front.
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
	if strings.ContainsRune(text, '_') || !hexadecimal && strings.ContainsAny(text, "bop") { // as only Go writes numbers
		return false
	}
	if _, _, err := f.Parse(text, 0); err != nil {
		return false
	}
	if f.Sign() == 0 { // it may be too small even for a big.Float
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

// AddLongDouble adds to a number, and reports whether both and the sum are finite.
func AddLongDouble(sum, by *big.Float) (ok bool) {
	if sum.IsInf() || by.IsInf() {
		return false
	}
	return sum.Add(sum, by).MantExp(nil) <= longDoubleMaxExp
}

// AppendLongDouble writes a number with at most 17 digits behind the point, as Redis does for people.
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

// ParseScore reads a number as Redis reads scores: the whole of it, without blanks, and neither too large nor too small.
func ParseScore(b []byte) (score float64, ok bool) {
	if n, ok := command.ParseRedisInt(b); ok {
		return float64(n), true
	}
	score, exact, ok := ParseDouble(string(b))
	return score, ok && exact
}

// ParseDouble reads a number as strtod does, in decimals or hexadecimals, without blanks in front. It is not exact if it
// is too large, and then infinite, or too small, and then 0.
func ParseDouble(text string) (f float64, exact, ok bool) {
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
