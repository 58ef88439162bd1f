package testmodel

import (
	"fmt"
	"math/big"
	"strings"
)

// fraction is a rate: tokens per period, in nanoseconds.
type fraction struct{ tokens, period int64 }

func (f fraction) perNano() *big.Rat { return big.NewRat(f.tokens, f.period) }
func (f fraction) nanos() *big.Rat   { return big.NewRat(f.period, f.tokens) } // of one token
func (f fraction) String() string    { return fmt.Sprint(f.tokens, "/", durationText(f.period)) }

const (
	rateMust = "must be a rate such as 100, 0.035, 1000/60, 1000/m, 5/500ms or '10 per second'; " +
		"units: ms (millisecond), s (sec, second), m (min, minute), h (hour), d (day)"
	rateBounds = "must be a rate above 0 and at most 1000000000000 tokens, per 1ms to 10 years, and not below 1 token in 10 years"
)

// readRate reads N, N/period or N per period. A decimal N is scaled, with its period, to a whole number.
func readRate(text string) (fraction, error) {
	number, period, divided := strings.Cut(text, "/")
	if at := strings.Index(strings.ToLower(text), " per "); !divided && at >= 0 {
		number, period, divided = text[:at], text[at+len(" per "):], true
	}
	if !divided {
		period = "s"
	}
	length, ok := inUnits(period, true)
	n, isNumber := decimal(number)
	if !ok || !isNumber {
		return fraction{}, argument("rate", rateMust, text)
	}
	if n.Sign() == 0 || n.Cmp(ratio(mostTokens)) > 0 || length.Cmp(ratio(millisecond)) < 0 || length.Cmp(ratio(mostDuration)) > 0 {
		return fraction{}, argument("rate", rateBounds, text)
	}
	scaled := times(length, new(big.Rat).SetInt(n.Denom()))
	if length.IsInt() && scaled.Cmp(ratio(mostDuration)) <= 0 && n.Num().Cmp(big.NewInt(mostTokens)) <= 0 {
		return fraction{n.Num().Int64(), scaled.Num().Int64()}, nil
	}
	f := nearestBelow(n.Quo(n, length))
	if f.tokens == 0 {
		return f, argument("rate", rateBounds, text)
	}
	return f, nil
}

// nearestBelow is the largest rate that can be kept and is not above a number of tokens a nanosecond.
func nearestBelow(number *big.Rat) fraction {
	below, above := fraction{0, 1}, fraction{1, 0} // neighbours, with the number between them, or at below
	for last := [2]fraction{}; last != [2]fraction{below, above}; {
		last = [2]fraction{below, above}
		over := minus(ratio(above.tokens), times(number, ratio(above.period))) // its distance to the number, times its period
		below = below.towards(above, down(new(big.Rat).Quo(below.under(number), over)))
		left := below.under(number)
		if left.Sign() == 0 {
			break
		}
		steps := new(big.Rat).Quo(over, left)
		if steps.IsInt() { // that would reach the number
			steps.Sub(steps, ratio(1))
		}
		above = above.towards(below, down(steps))
	}
	if below.tokens == 0 {
		return below
	}
	longer := (millisecond + below.period - 1) / below.period // a period is at least a millisecond
	if below.tokens > mostTokens/longer {
		period := down(new(big.Rat).Quo(ratio(mostTokens), number))
		return fraction{down(times(number, ratio(period))), period}
	}
	return fraction{below.tokens * longer, below.period * longer}
}

// under is the difference between a number and a rate below it, times the rate's period.
func (f fraction) under(number *big.Rat) *big.Rat {
	return minus(times(number, ratio(f.period)), ratio(f.tokens))
}

// towards goes a number of steps towards another rate, within the bounds.
func (f fraction) towards(other fraction, steps int64) fraction {
	if other.tokens > 0 {
		steps = min(steps, (mostTokens-f.tokens)/other.tokens)
	}
	if other.period > 0 {
		steps = min(steps, (mostDuration-f.period)/other.period)
	}
	return fraction{f.tokens + steps*other.tokens, f.period + steps*other.period}
}
