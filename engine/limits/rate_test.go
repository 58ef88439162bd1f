package limits

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

const (
	ms  = int64(1_000_000)
	sec = 1000 * ms
)

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		text string
		want Rate
	}{
		{"100", Rate{100, sec}},
		{"0.035", Rate{7, 200 * sec}},
		{"2.50", Rate{5, 2 * sec}},
		{"1000/60", Rate{1000, 60 * sec}},
		{"1000/m", Rate{1000, 60 * sec}},
		{"1000/M", Rate{1000, 60 * sec}},
		{"3000/d", Rate{3000, 86400 * sec}},
		{"5/500ms", Rate{5, 500 * ms}},
		{"5/1.5s", Rate{5, 1500 * ms}},
		{"1000000000000/ms", Rate{MaxTokens, ms}},
		{"1/3650d", Rate{1, MaxDuration}},
		{"100/min", Rate{100, 60 * sec}},
		{"100/minute", Rate{100, 60 * sec}},
		{"5/hour", Rate{5, 3600 * sec}},
		{"1000/day", Rate{1000, 86400 * sec}},
		{"10/sec", Rate{10, sec}},
		{"10/second", Rate{10, sec}},
		{"10 per second", Rate{10, sec}},
		{"10 PER SECONDS", Rate{10, sec}},
		{"100/MINS", Rate{100, 60 * sec}},
		{"0.5 per hours", Rate{1, 2 * 3600 * sec}},
		{"10 Per 5Seconds", Rate{10, 5 * sec}},
		{"7/2days", Rate{7, 2 * 86400 * sec}},
		{"5/250Milliseconds", Rate{5, 250 * ms}},
	} {
		got, err := ParseRate(c.text)
		if err != nil || got != c.want {
			t.Errorf("%q: %v %v, want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "0", "0.0", "-1", "+1", "1/0", "/s", "1//s", "NaN", "Inf", "1e", " 5", "5 ", "0x10", "1/", "1/s/s",
		"1000000000001", "1000000000000.1", "1/3651d", "1/0.5ms", "1.", ".5", "1/-1s", "1/1y", "1..5", "99999999999999999999", "1/s ",
		"0.000000000000000000000001", "1/.5s", "1/.5", "1/.5m", "5/.1s", "1/.", "10 per", "10 per ", "per s", " per s", "1 per 2 s", "0.5/3650d",
		"0.000000001", "1/mss", "1/secondss", "1/w", "1e5e5/s", "-1/s", "10/", "per second",
		"0.0000000000000000000001/s", "10 per second second", "10per second", "10 per/s", strings.Repeat("9", 400),
		"1/0." + strings.Repeat("0", 400) + "1", strings.Repeat("9", 1<<20), "1/" + strings.Repeat("9", 1<<20)} {
		if r, err := ParseRate(text); err == nil {
			t.Errorf("%q was read as %v", text, r)
		}
	}
}

// A rate that cannot be kept as it is written is rounded down, by less than 1 part in 10^12, to one that can.
func TestRatesAreRoundedDown(t *testing.T) {
	texts := []string{"1000000.000001", "99999.99999999", "33333.33333333", "35714.28571429", "1428571.428571", "14285714.285714285",
		"123456.12345678/m", "16.666666666666668", "0.034722222222222224", "0.5833333333333334", "2.8935185185185186", "74.08800000000001",
		"0.7692307692307693", "999999999999.9", "999999999999.9/ms", "1/1.0000000001s", "1000/0.30000000000000004", "0.1234567890123456789/d",
		"1.0000000000000000000000000000000000000000000000000000000000000000000000000001", "0.000000003170979198376459", "400000000000.7/ms",
		"5/3.00000000000000000000000000000000000000000000000000000000000000000000000001", "0." + strings.Repeat("3", 5000)}
	r := rand.New(rand.NewPCG(11, 1))
	for range 20000 {
		number := strconv.FormatFloat(r.ExpFloat64()*math.Pow10(r.IntN(18)-8), 'f', r.IntN(25), 64)
		if r.IntN(3) == 0 {
			number += "/" + strconv.FormatFloat(1+r.ExpFloat64()*math.Pow10(r.IntN(6)), 'f', r.IntN(20), 64) + durationUnits[r.IntN(len(durationUnits))].suffix
		}
		texts = append(texts, number)
	}
	taken := 0
	for _, text := range texts {
		got, err := ParseRate(text)
		if err != nil {
			if !errors.Is(err, ErrRateBounds) {
				t.Fatalf("%q: %v", text, err)
			}
			continue
		}
		taken++
		want := asWritten(text)
		kept := big.NewRat(got.Tokens, got.Period)
		if got.Tokens < 1 || got.Tokens > MaxTokens || got.Period < MinDuration || got.Period > MaxDuration || kept.Cmp(want) > 0 {
			t.Fatalf("%q is kept as %v", text, got)
		}
		lost := new(big.Rat).Sub(want, kept)
		if lost.Quo(lost, want).Cmp(big.NewRat(1, 1e12-1e6-1)) > 0 {
			t.Fatalf("%q is kept as %v, %s less", text, got, lost.FloatString(20))
		}
		if again, err := ParseRate(got.String()); err != nil || again != got {
			t.Fatalf("%q is kept as %v, which is read as %v %v", text, got, again, err)
		}
	}
	if taken < 5000 {
		t.Errorf("only %d of %d were taken", taken, len(texts))
	}
}

// asWritten is the rate that a text means, in tokens a nanosecond.
func asWritten(text string) *big.Rat {
	number, period, divided := strings.Cut(text, "/")
	if !divided {
		period = "1s"
	}
	n, unit := splitUnit(period)
	if n == "" {
		n = "1"
	}
	rate, _ := new(big.Rat).SetString(number)
	nanos, _ := new(big.Rat).SetString(n)
	return rate.Quo(rate, nanos.Mul(nanos, new(big.Rat).SetInt64(unit)))
}

// Of all rates within the bounds, none lies between the one that is kept and the one that was written.
func TestRoundedRatesAreTheNearest(t *testing.T) {
	for text, want := range map[string]Rate{ // found by a walk down the Stern-Brocot tree, in another program
		"1000000.000001":              {999000000001, 999000000000001},
		"16.666666666666668":          {4791666667, 287500000019999977},
		"14285714.285714285":          {1000000000000, 70000000000001},
		"0.0000000031709791983764591": {1, 315359999999999956},
		"999999999999.9":              {999999999999, 1000000000},
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, err, want)
		}
	}
}

// With small bounds, all rates within them are tried.
func TestNearestBelowIsNearest(t *testing.T) {
	for _, b := range []rateBounds{{1, 1, 1}, {7, 1, 40}, {40, 1, 7}, {25, 1, 25}, {60, 1, 1}, {1, 1, 60}} {
		for num := int64(1); num <= 45; num++ {
			for den := int64(1); den <= 90; den++ {
				number := big.NewRat(num, den)
				if number.Cmp(big.NewRat(b.tokens, b.shortest)) > 0 {
					continue
				}
				nearest := new(big.Rat)
				for period := b.shortest; period <= b.longest; period++ {
					if r := big.NewRat(min(b.tokens, num*period/den), period); r.Cmp(nearest) > 0 {
						nearest = r
					}
				}
				got := b.nearestBelow(number)
				if got == (Rate{}) && nearest.Sign() == 0 {
					continue
				}
				if got.Tokens > b.tokens || got.Period < b.shortest || got.Period > b.longest || big.NewRat(got.Tokens, got.Period).Cmp(nearest) != 0 {
					t.Fatalf("%v: %v is rounded down to %v, and %v is the nearest", b, number, got, nearest)
				}
			}
		}
	}
}

// Where the period may not be short, a rate is still never above the number, and less than one token below it in the
// longest period that the bounds allow.
func TestNearestBelowWithAShortestPeriod(t *testing.T) {
	for _, b := range []rateBounds{{40, 10, 100}, {99, 7, 300}} {
		for den := int64(1); den <= 120; den++ {
			for num := int64(1); num*b.shortest <= b.tokens*den; num++ {
				number := big.NewRat(num, den)
				got := b.nearestBelow(number)
				if got == (Rate{}) {
					if num*b.longest >= den {
						t.Fatalf("%v: %v is rounded down to 0", b, number)
					}
					continue
				}
				lost := new(big.Rat).Sub(number, big.NewRat(got.Tokens, got.Period))
				period := min(b.longest, b.tokens*den/num)
				if got.Tokens > b.tokens || got.Period < b.shortest || got.Period > b.longest || lost.Sign() < 0 || lost.Cmp(big.NewRat(1, period)) >= 0 {
					t.Fatalf("%v: %v is rounded down to %v", b, number, got)
				}
			}
		}
	}
}

// What RL.INFO shows is read as the same rate.
func TestRateStringReadsBack(t *testing.T) {
	rates := []Rate{{1, sec}, {1000, 60 * sec}, {5, 1500 * ms}, {7, 1_234_567}, {3, 86400 * sec}, {7, 200 * sec},
		{6, 4 * sec}, {MaxTokens, MaxDuration}, {1, MinDuration}}
	r := rand.New(rand.NewPCG(11, 2))
	for range 20000 {
		unit := durationUnits[r.IntN(len(durationUnits))].nanos
		period := max(MinDuration, r.Int64N(MaxDuration)>>r.IntN(39))
		if r.IntN(2) == 0 && period > unit {
			period -= period % unit
		}
		rates = append(rates, Rate{1 + r.Int64N(MaxTokens>>r.IntN(39)), period})
	}
	for _, want := range rates {
		if got, err := ParseRate(want.String()); err != nil || got != want {
			t.Fatalf("%v -> %q -> %v %v", want, want.String(), got, err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]int64{"250ms": 250 * ms, "10s": 10 * sec, "1.5m": 90 * sec, "1h": 3600 * sec, "7d": 7 * 86400 * sec,
		"10": 10 * sec, "0.001": ms, "1.5ms": ms + ms/2, "3650d": MaxDuration, "10S": 10 * sec} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
	for _, text := range []string{"", "ms", "0", "0.0009", "3651d", "-1s", "1 s", "1w", "1e", "s1", "1.s", "."} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	for _, seed := range []string{"100", "0.035", "1000/60", "1000/m", "5/500ms", "1//s", "999999999999.999999", "1/10y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRate(text)
		if err == nil && (r.Tokens < 1 || r.Period < MinDuration) {
			t.Fatalf("%q was read as %+v", text, r)
		}
	})
}

func BenchmarkParseRate(b *testing.B) {
	for _, text := range []string{"1000/m", "16.666666666666668", strings.Repeat("1", 12) + "." + strings.Repeat("7", 1000)} {
		b.Run(strconv.Itoa(len(text)), func(b *testing.B) {
			for b.Loop() {
				if _, err := ParseRate(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
