package limits

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/stintdb/stint/engine/internal/uint128"
)

// MaxTokens bounds a capacity, a rate's tokens, and the tokens of one request.
const MaxTokens = 1_000_000_000_000

// Rate is an exact fraction: Tokens per Period nanoseconds. It is never turned into a rounded interval.
type Rate struct {
	Tokens int64 // N, 1 to MaxTokens
	Period int64 // P in nanoseconds, 1 ms to MaxDuration
}

// Errors of [ParseRate]: the format of a rate, and its bounds.
var (
	ErrRate       = fmt.Errorf("must be a rate such as 100, 0.035, 1000/60, 1000/m, 5/500ms or '10 per second'; units: %s", unitNames())
	ErrRateBounds = errors.New("must be a rate above 0 and at most 1000000000000 tokens, per 1ms to 10 years, and not below 1 token in 10 years")
)

// ParseRate reads a rate as clients write it: N, N/period or "N per period", where N may have any number of decimals,
// and an exponent, and the number of the period may be left out. A fraction that cannot be kept is rounded down to the
// nearest that can. The error is [ErrRate] or [ErrRateBounds].
func ParseRate(text string) (Rate, error) {
	number, period := splitRate(text)
	periodNumber, unit := splitUnit(period)
	if periodNumber == "" {
		periodNumber = "1" // 1000/m
	}
	number, isNumber := withoutExponent(number)
	periodNumber, isPeriod := withoutExponent(periodNumber)
	if period == "" || unit == 0 || !isNumber || !isPeriod {
		return Rate{}, ErrRate
	}
	if r, ok := exactRate(number, periodNumber, unit); ok {
		return r, nil
	}
	tokens := decimalFraction(number, false)
	nanos := decimalFraction(periodNumber, true)
	nanos.Mul(nanos, new(big.Rat).SetInt64(unit))
	if tokens.Sign() == 0 || tokens.Cmp(big.NewRat(MaxTokens, 1)) > 0 ||
		nanos.Cmp(big.NewRat(MinDuration, 1)) < 0 || nanos.Cmp(big.NewRat(MaxDuration, 1)) > 0 {
		return Rate{}, ErrRateBounds
	}
	r := rateBounds{MaxTokens, MinDuration, MaxDuration}.nearestBelow(tokens.Quo(tokens, nanos))
	if r.Tokens == 0 {
		return r, ErrRateBounds
	}
	return r, nil
}

// splitRate separates the number of tokens from the period, a second if none is given.
func splitRate(text string) (number, period string) {
	const per = " per "
	if number, period, divided := strings.Cut(text, "/"); divided {
		return number, period
	}
	for i := range len(text) - len(per) {
		if strings.EqualFold(text[i:i+len(per)], per) {
			return text[:i], text[i+len(per):]
		}
	}
	return text, "s"
}

// exactRate scales a decimal number of tokens, and its period, to whole numbers, so that 0.035 is 35 tokens per 1000 s.
// It reports false if they cannot be kept like that.
func exactRate(number, periodNumber string, unit int64) (r Rate, ok bool) {
	digits, decimals, isShort := parseDecimal(number)
	period, err := durationOf(periodNumber, unit)
	if !isShort || err != nil {
		return r, false
	}
	scale := pow10(decimals)
	if divisor := gcd(digits, scale); divisor > 1 {
		digits, scale = digits/divisor, scale/divisor
	}
	scaled := uint128.Product(uint64(period), scale)
	if digits == 0 || digits > MaxTokens || scaled.Exceeds(uint128.Int{Lo: uint64(MaxDuration)}) {
		return r, false
	}
	return Rate{Tokens: int64(digits), Period: int64(scaled.Lo)}, true
}

// rateBounds bounds the rates that rounding may return.
type rateBounds struct {
	tokens            int64 // the most
	shortest, longest int64 // period
}

// nearestBelow returns the largest rate within the bounds that is not above perNano tokens a nanosecond, the zero Rate
// if there is none. perNano is at most b.tokens in the shortest period.
//
// It walks down the Stern-Brocot tree, in the steps that the continued fraction gives (Graham, Knuth, Patashnik:
// Concrete Mathematics, section 4.5): below and above are neighbours with the number between them, and whatever lies
// between them has at least the sum of their tokens and of their periods.
func (b rateBounds) nearestBelow(perNano *big.Rat) Rate {
	num, den := new(big.Int).Set(perNano.Num()), new(big.Int).Set(perNano.Denom())
	below, above := Rate{0, 1}, Rate{1, 0}
	for isBelow := true; den.Sign() > 0; isBelow = !isBelow {
		next, other := &below, above
		if !isBelow {
			next, other = &above, below
		}
		steps, rest := new(big.Int).QuoRem(num, den, new(big.Int))
		most := int64(math.MaxInt64) // steps that stay within the bounds
		if other.Tokens > 0 {
			most = min(most, (b.tokens-next.Tokens)/other.Tokens)
		}
		if other.Period > 0 {
			most = min(most, (b.longest-next.Period)/other.Period)
		}
		isOver := steps.Cmp(big.NewInt(most)) > 0
		if isOver && !isBelow {
			break // all that lies nearer is beyond the bounds
		}
		if !isOver {
			most = steps.Int64()
		}
		next.Tokens += most * other.Tokens
		next.Period += most * other.Period
		if isOver {
			break
		}
		num, den = den, rest
		if rest.Sign() == 0 {
			below = *next // it is the number
		}
	}
	if below.Tokens == 0 {
		return Rate{}
	}
	return b.withPeriod(below, perNano)
}

// withPeriod writes a rounded rate with a period that is not too short. A rate of more than half of b.tokens in that
// time may have no such form. It is rounded down again, over the longest time in which it is at most b.tokens.
func (b rateBounds) withPeriod(r Rate, perNano *big.Rat) Rate {
	times := (b.shortest + r.Period - 1) / r.Period
	if r.Tokens <= b.tokens/times {
		return Rate{r.Tokens * times, r.Period * times}
	}
	down := func(x *big.Rat) int64 { return new(big.Int).Quo(x.Num(), x.Denom()).Int64() }
	period := down(new(big.Rat).Quo(big.NewRat(b.tokens, 1), perNano))
	return Rate{down(new(big.Rat).Mul(perNano, big.NewRat(period, 1))), period}
}

// Errors of [WithOnePeriod].
var (
	ErrLeastAboveMost = errors.New("must not be above max")
	errRatesApart     = errors.New("and max cannot be kept in one period: write both with the same unit or fewer digits, or a larger min")
)

// WithOnePeriod writes the lowest and the highest rate of an adaptive limit as tokens in one period. The highest is
// kept exactly. If there is no such period for both, the lowest is rounded down to the nearest that has one, by at most
// 1 part in 1000.
func WithOnePeriod(lowest, highest Rate) (least int64, most Rate, err error) {
	if uint128.Product(uint64(lowest.Tokens), uint64(highest.Period)).Exceeds(uint128.Product(uint64(highest.Tokens), uint64(lowest.Period))) {
		return 0, highest, ErrLeastAboveMost
	}
	common := int64(gcd(uint64(lowest.Period), uint64(highest.Period)))
	byLowest, byHighest := highest.Period/common, lowest.Period/common // the factors that make the periods equal
	longest := min(MaxTokens/highest.Tokens, MaxDuration/highest.Period)
	if byHighest <= longest && lowest.Tokens <= MaxTokens/byLowest {
		return lowest.Tokens * byLowest, Rate{highest.Tokens * byHighest, highest.Period * byHighest}, nil
	}
	share := big.NewRat(lowest.Tokens, lowest.Period) // tokens in the highest rate's period
	share.Mul(share, new(big.Rat).SetInt64(highest.Period))
	below := rateBounds{tokens: MaxTokens, shortest: 1, longest: longest}.nearestBelow(share)
	lost := new(big.Rat)
	if below.Tokens > 0 {
		lost.Sub(share, big.NewRat(below.Tokens, below.Period))
	}
	if below.Tokens == 0 || lost.Quo(lost, share).Cmp(big.NewRat(1, 1000)) > 0 {
		return 0, highest, errRatesApart
	}
	return below.Tokens, Rate{highest.Tokens * below.Period, highest.Period * below.Period}, nil
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Refill is the time in which tokens refill, in nanoseconds, rounded up.
func (r Rate) Refill(tokens int64) int64 {
	return uint128.Product(uint64(tokens), uint64(r.Period)).DivideUp(uint64(r.Tokens))
}

// String writes the rate in the form [ParseRate] reads, such as 1000/60s.
func (r Rate) String() string {
	return strconv.FormatInt(r.Tokens, 10) + "/" + FormatDuration(r.Period)
}

// AppendPerSecond appends the tokens a second, rounded down to nine decimals, without zeros at the end.
func (r Rate) AppendPerSecond(b []byte) []byte {
	const decimals = 9
	perSecond := uint128.Product(uint64(r.Tokens), uint64(time.Second))
	whole, rest := perSecond.Divide(uint64(r.Period))
	b = strconv.AppendUint(b, whole, 10)
	fraction, _ := uint128.Product(rest, 1_000_000_000).Divide(uint64(r.Period))
	if fraction == 0 {
		return b
	}
	digits := strconv.FormatUint(fraction, 10)
	digits = strings.TrimRight(strings.Repeat("0", decimals-len(digits))+digits, "0")
	return append(append(b, '.'), digits...)
}
