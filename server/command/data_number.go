package command

import (
	"bytes"
	"math/big"
	"strings"
)

// parseLongDouble reads a number as strtold does, without blanks in front; the exponent is bounded, because the digits
// of the sum are written out.
func parseLongDouble(b []byte, f *big.Float) bool {
	if len(b) == 0 || len(b) > 256 {
		return false
	}
	text := strings.ToLower(string(b))
	switch strings.TrimLeft(text, "+-") {
	case "inf", "infinity":
		f.SetInf(text[0] == '-')
		return true
	}
	if strings.ContainsAny(text, "_bo") || strings.HasPrefix(text, "0x") && strings.Contains(text, "p") {
		return false
	}
	if _, _, err := f.Parse(text, 0); err != nil {
		return false
	}
	return f.IsInf() || f.MantExp(nil) < 1024
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
