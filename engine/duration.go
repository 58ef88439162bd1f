package engine

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stintdb/stint/engine/internal/uint128"
)

const (
	// MinDuration is the shortest period, window, lease or wait a client can ask for.
	MinDuration = int64(time.Millisecond)
	// MaxDuration is the longest: 10 years of 365 days.
	MaxDuration = 10 * 365 * 24 * int64(time.Hour)
)

// ErrDuration describes the format of a duration.
var ErrDuration = errors.New("must be a duration between 1ms and 10 years in whole nanoseconds, such as 250ms, 10s, 1.5m, 1h or 7d (a bare number is seconds)")

// durationUnits are the units from the smallest on. Each can also be written as any of its words, in the plural too.
var durationUnits = []struct {
	suffix string
	nanos  int64
	words  []string
}{
	{"ms", int64(time.Millisecond), []string{"millisecond"}},
	{"s", int64(time.Second), []string{"sec", "second"}},
	{"m", int64(time.Minute), []string{"min", "minute"}},
	{"h", int64(time.Hour), []string{"hour"}},
	{"d", 24 * int64(time.Hour), []string{"day"}},
}

// unitNames lists the units for errors.
func unitNames() string {
	var names []string
	for _, unit := range durationUnits {
		names = append(names, unit.suffix+" ("+strings.Join(unit.words, ", ")+")")
	}
	return strings.Join(names, ", ")
}

// ParseDuration reads a duration as clients write it and returns nanoseconds. The error is [ErrDuration].
func ParseDuration(text string) (int64, error) {
	number, nanos := splitUnit(text)
	digits, decimals, ok := parseDecimal(number)
	if !ok {
		return 0, ErrDuration
	}
	value := uint128.Product(digits, uint64(nanos))
	quotient, remainder := value.Divide(pow10(decimals))
	if remainder != 0 || quotient < uint64(MinDuration) || quotient > uint64(MaxDuration) {
		return 0, ErrDuration
	}
	return int64(quotient), nil
}

// splitUnit separates the number of a duration from its unit, in nanoseconds; without a unit it is seconds.
func splitUnit(text string) (number string, nanos int64) {
	end := len(text)
	for end > 0 && (text[end-1] < '0' || text[end-1] > '9') && text[end-1] != '.' {
		end--
	}
	suffix := strings.ToLower(text[end:])
	if suffix == "" {
		return text, int64(time.Second)
	}
	for _, unit := range durationUnits {
		if unit.suffix == suffix || slices.Contains(unit.words, strings.TrimSuffix(suffix, "s")) {
			return text[:end], unit.nanos
		}
	}
	return "", 0
}

// FormatDuration writes nanoseconds in the largest unit that divides them, in the form [ParseDuration] reads.
func FormatDuration(nanos int64) string {
	for i := len(durationUnits) - 1; i >= 0; i-- {
		if unit := durationUnits[i]; nanos%unit.nanos == 0 {
			return strconv.FormatInt(nanos/unit.nanos, 10) + unit.suffix
		}
	}
	millis := nanos / int64(time.Millisecond)
	fraction := strings.TrimRight(fmt.Sprintf("%06d", nanos%int64(time.Millisecond)), "0")
	return fmt.Sprintf("%d.%sms", millis, fraction)
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
