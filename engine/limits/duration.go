package limits

import (
	"errors"
	"fmt"
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
	return durationOf(number, nanos)
}

// durationOf is a number of units of some nanoseconds. The error is [ErrDuration].
func durationOf(number string, unit int64) (int64, error) {
	number, isNumber := withoutExponent(number)
	digits, decimals, isShort := parseDecimal(number)
	if !isNumber || !isShort {
		return 0, ErrDuration
	}
	value := uint128.Product(digits, uint64(unit))
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
