package testmodel

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	millisecond = int64(1_000_000)
	second      = 1000 * millisecond
	minute      = 60 * second
	hour        = 60 * minute
	day         = 24 * hour
	year        = 365 * day

	mostTokens   = int64(1_000_000_000_000)
	mostDuration = 10 * year
	mostFill     = 100 * year
	mostTime     = int64(math.MaxInt64)
)

// units are the units of durations, the largest first.
var units = []struct {
	name, words string
	nanos       int64
}{{"d", "day days", day}, {"h", "hour hours", hour}, {"m", "min mins minute minutes", minute}, {"s", "sec secs second seconds", second}, {"ms", "millisecond milliseconds", millisecond}}

func argument(name, must, got string) error {
	return refuse("ERR %s: %s, got '%s'", name, must, got[:min(len(got), 64)])
}

// wholeNumber reads an integer of 64 bits: digits with an optional sign.
func wholeNumber(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && !strings.Contains(text, "_")
}

func between(name, text string, least, most int64) (int64, error) {
	n, ok := wholeNumber(text)
	if !ok || n < least || n > most {
		return 0, argument(name, fmt.Sprintf("must be an integer between %d and %d", least, most), text)
	}
	return n, nil
}

// decimalForm is digits with at most one point among them, and perhaps an exponent.
var decimalForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?$`)

func decimal(text string) (*big.Rat, bool) {
	if !decimalForm.MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

const durationMust = "must be a duration between 1ms and 10 years in whole nanoseconds, such as 250ms, 10s, 1.5m, 1h or 7d (a bare number is seconds)"

// inUnits reads a number and a unit; without one it is seconds. The number may be left out for one if optional.
func inUnits(text string, optional bool) (*big.Rat, bool) {
	number := strings.TrimRight(text, letters)
	unit := second
	if name := strings.ToLower(text[len(number):]); name != "" {
		unit = 0
		for _, u := range units {
			if u.name == name || slices.Contains(strings.Fields(u.words), name) {
				unit = u.nanos
			}
		}
	}
	if optional && number == "" && text != "" {
		number = "1"
	}
	value, ok := decimal(number)
	if !ok || unit == 0 {
		return nil, false
	}
	return value.Mul(value, new(big.Rat).SetInt64(unit)), true
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// nanoseconds reads a duration.
func nanoseconds(text string) (int64, bool) {
	value, ok := inUnits(text, false)
	if !ok || !value.IsInt() || !value.Num().IsInt64() {
		return 0, false
	}
	n := value.Num().Int64()
	return n, n >= millisecond && n <= mostDuration
}

func duration(name, text string) (int64, error) {
	n, ok := nanoseconds(text)
	if !ok {
		return 0, argument(name, durationMust, text)
	}
	return n, nil
}

// durationText writes a duration in the largest unit that divides it.
func durationText(nanos int64) string {
	for _, u := range units {
		if nanos%u.nanos == 0 {
			return fmt.Sprint(nanos/u.nanos, u.name)
		}
	}
	return strings.TrimRight(new(big.Rat).SetFrac64(nanos, millisecond).FloatString(6), "0") + "ms"
}

// up and down round a fraction to a whole number, at most the largest of 64 bits.
func up(r *big.Rat) int64 {
	n := new(big.Int).Neg(r.Num())
	return whole(n.Neg(n.Div(n, r.Denom()))) // Div rounds down for a divisor above zero
}

func down(r *big.Rat) int64 { return whole(new(big.Int).Div(r.Num(), r.Denom())) }

func whole(n *big.Int) int64 {
	if !n.IsInt64() {
		return 1<<63 - 1
	}
	return n.Int64()
}

func ratio(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func plus(a, b *big.Rat) *big.Rat  { return new(big.Rat).Add(a, b) }
func minus(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
func times(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
