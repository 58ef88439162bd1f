package testmodel

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// No valid rate lies between a number and its rounded rate. With bounds of a few hundred all rates can be tried; here
// the neighbours are found by trying every period.
func TestNearestBelowIsNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		number := big.NewRat(1000+random.Int64N(1_000_000), (1+random.Int64N(1000))*mostDuration/700+1)
		f := nearestBelow(number)
		if f.perNano().Cmp(number) > 0 || f.tokens > mostTokens || f.period > mostDuration || f.period < millisecond {
			t.Fatalf("%v is rounded down to %v", number, f)
		}
		for tokens := int64(1); tokens < 5000; tokens++ { // the nearest rate below with this number of tokens
			period := up(new(big.Rat).Quo(ratio(tokens), number))
			if period <= mostDuration && big.NewRat(tokens, period).Cmp(f.perNano()) > 0 {
				t.Fatalf("%v is rounded down to %v, and %d/%d is nearer", number, f, tokens, period)
			}
		}
	}
}

// A decimal number of tokens is scaled with its period, unless the period is no whole number of nanoseconds: then the
// rate is written in its lowest terms.
func TestRateText(t *testing.T) {
	for text, want := range map[string]string{
		"33.3333/0.3333333333333s": "111111/1111111.111111ms",
		"33.3333/0.3s":             "333333/50m",
	} {
		if f, err := readRate(text); err != nil || f.String() != want {
			t.Errorf("%s is %v, %v, want %s", text, f, err, want)
		}
	}
}
