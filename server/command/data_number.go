package command

import (
	"bytes"
	"math/big"
	"strings"
)

// A long double of C, on x86, in which Redis counts fractions: its digits in bits, and the exponents between which it is
// neither infinite nor 0.
const (
	longDoubleBits   = 64
	longDoubleMinExp = -16445
	longDoubleMaxExp = 16384
	longDoubleChars  = 5 << 10 // of its text
)

// parseLongDouble reads a number as strtold does, without blanks in front.
func parseLongDouble(b []byte, f *big.Float) bool {
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
	exponent := f.MantExp(nil)
	return f.Sign() == 0 || exponent > longDoubleMinExp && exponent <= longDoubleMaxExp
}

// appendLongDouble writes a number with at most 17 digits behind the point, as Redis does for people.
func appendLongDouble(b []byte, f *big.Float) []byte {
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
