package limits

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// withoutExponent writes a number as programs print it, such as 1.5, 1e-05 or 2.5E+6, without its exponent, as
// isDecimal takes it. ok is false if it is no such number.
func withoutExponent(text string) (decimal string, ok bool) {
	if isDecimal(text) { // most are
		return text, true
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return "", false
	}
	mantissa, digits := text[:at], text[at+1:]
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		digits = digits[1:]
	}
	if !isDecimal(mantissa) || !isDecimal(digits) || strings.Contains(digits, ".") {
		return "", false
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	most := len(mantissa) + maxDecimals // beyond it the number is zero, or beyond every bound
	exponent, err := strconv.Atoi(digits)
	if err != nil || exponent > most {
		exponent = most
	}
	if text[at+1] == '-' {
		whole = strings.Repeat("0", exponent) + whole
		at = len(whole) - exponent
	} else {
		fraction += strings.Repeat("0", exponent)
		at = len(whole) + exponent
	}
	all := whole + fraction
	if at == len(all) {
		return all, true
	}
	return all[:at] + "." + all[at:], true
}

// isDecimal reports whether a text is digits with at most one decimal point between them, such as 0.035. No sign, no
// exponent, no spaces.
func isDecimal(text string) bool {
	points := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '.' && points == 0 && i > 0 && i < len(text)-1:
			points++
		case c < '0' || c > '9':
			return false
		}
	}
	return text != ""
}

// parseDecimal reads a decimal as an integer and the number of its decimals, at most 18 significant digits.
func parseDecimal(text string) (digits uint64, decimals int, ok bool) {
	if !isDecimal(text) {
		return 0, 0, false
	}
	whole, fraction, _ := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	for _, r := range []byte(whole + fraction) {
		if digits > math.MaxInt64/10-1 {
			return 0, 0, false
		}
		digits = digits*10 + uint64(r-'0')
	}
	return digits, len(fraction), len(fraction) <= 18
}

// maxDecimals bounds the decimals that are read of a number, so that no number is costly to read. It is far more than
// the bounds of a rate can distinguish.
const maxDecimals = 64

// decimalFraction reads a decimal of any length. Decimals beyond [maxDecimals] are rounded, up or down.
func decimalFraction(text string, up bool) *big.Rat {
	whole, fraction, _ := strings.Cut(text, ".")
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if len(whole) > maxDecimals {
		whole = whole[:maxDecimals] // beyond every bound still
	}
	isCut := len(fraction) > maxDecimals
	if isCut {
		fraction = fraction[:maxDecimals]
	}
	digits, _ := new(big.Int).SetString("0"+whole+fraction, 10)
	if isCut && up {
		digits.Add(digits, big.NewInt(1))
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil)
	return new(big.Rat).SetFrac(digits, scale)
}

func pow10(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}
