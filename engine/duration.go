package engine

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// MinDuration is the shortest period, window, lease or wait a client can ask for.
	MinDuration = int64(time.Millisecond)
	// MaxDuration is the longest: 10 years of 365 days.
	MaxDuration = 10 * 365 * 24 * int64(time.Hour)
)

// ErrDuration says what a duration must look like.
var ErrDuration = errors.New("must be a duration between 1ms and 10 years, such as 250ms, 10s, 1.5m, 1h or 7d (a bare number is seconds)")

var durationUnits = []struct {
	suffix string
	nanos  int64
}{
	{"ms", int64(time.Millisecond)},
	{"s", int64(time.Second)},
	{"m", int64(time.Minute)},
	{"h", int64(time.Hour)},
	{"d", 24 * int64(time.Hour)},
}

// ParseDuration reads a duration as clients write it and returns nanoseconds. The error is [ErrDuration].
func ParseDuration(text string) (int64, error) {
	number, nanos := splitUnit(text)
	digits, decimals, ok := parseDecimal(number)
	if !ok {
		return 0, ErrDuration
	}
	value := product(digits, uint64(nanos))
	quotient, remainder := value.divide(pow10(decimals))
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
		if unit.suffix == suffix {
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

// parseDecimal reads digits with at most one decimal point, such as 0.035, as an integer and the number of its decimals.
// No sign, no exponent, no spaces; at most 18 significant digits.
func parseDecimal(text string) (digits uint64, decimals int, ok bool) {
	whole, fraction, pointed := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	if whole == "" || pointed && text[len(text)-1] == '.' {
		return 0, 0, false
	}
	for _, r := range []byte(whole + fraction) {
		if r < '0' || r > '9' || digits > math.MaxInt64/10-1 {
			return 0, 0, false
		}
		digits = digits*10 + uint64(r-'0')
	}
	return digits, len(fraction), len(fraction) <= 18
}

func pow10(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}
