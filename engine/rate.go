package engine

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is an exact fraction: Tokens per Period nanoseconds. It is never turned into a rounded interval.
type Rate struct {
	Tokens int64 // N, at least 1
	Period int64 // P in nanoseconds, at least 1 ms
}

// ErrRate says what a rate must look like.
var ErrRate = errors.New("must be a rate such as 100, 0.035, 1000/60, 1000/m or 5/500ms: above 0 and at most 1000000000000 tokens, per 1ms to 10 years")

// ParseRate reads a rate as clients write it: N, or N/period. N may be a decimal; it is then scaled, with its period,
// to a whole number, so that 0.035 is 35 tokens per 1000 s. The error is [ErrRate].
func ParseRate(text string) (Rate, error) {
	number, periodText, divided := strings.Cut(text, "/")
	period := int64(time.Second)
	if divided {
		if periodText == "" {
			return Rate{}, ErrRate
		}
		if c := periodText[0]; c < '0' || c > '9' {
			periodText = "1" + periodText // the number of a period may be left out: 1000/m
		}
		var err error
		if period, err = ParseDuration(periodText); err != nil {
			return Rate{}, ErrRate
		}
	}
	digits, decimals, ok := parseDecimal(number)
	if !ok || digits == 0 {
		return Rate{}, ErrRate
	}
	if whole, rest := digits/pow10(decimals), digits%pow10(decimals); whole > MaxTokens || whole == MaxTokens && rest > 0 {
		return Rate{}, ErrRate
	}
	return scaleRate(digits, uint64(period), pow10(decimals))
}

// scaleRate returns digits/scale tokens per period, with as little scaling as keeps both whole.
func scaleRate(digits, period, scale uint64) (Rate, error) {
	if divisor := gcd(digits, scale); divisor > 1 {
		digits, scale = digits/divisor, scale/divisor
	}
	scaled := product(period, scale)
	if scaled.hi != 0 || scaled.lo > math.MaxInt64 {
		divisor := gcd(digits, period)
		digits = digits / divisor
		scaled = product(period/divisor, scale)
	}
	if scaled.hi != 0 || scaled.lo > math.MaxInt64 {
		return Rate{}, ErrRate
	}
	return Rate{Tokens: int64(digits), Period: int64(scaled.lo)}, nil
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// String writes the rate in the form [ParseRate] reads, such as 1000/60s.
func (r Rate) String() string {
	return strconv.FormatInt(r.Tokens, 10) + "/" + FormatDuration(r.Period)
}
