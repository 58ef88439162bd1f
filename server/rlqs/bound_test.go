package rlqs

import (
	"testing"
	"time"
)

// uneven are demands of Envoys of which some have ten times as much as others, with a sum.
func uneven(envoys int, sum float64) (rates []float64) {
	total := 0.0
	for i := range envoys {
		rates = append(rates, float64(1+i%10))
		total += rates[i]
	}
	for i := range rates {
		rates[i] *= sum / total
	}
	return rates
}

var kinds = []struct {
	name   string
	limit  Limit
	envoys int
}{
	{"1000 a second", Limit{1000, 1000, time.Second}, 100},
	{"100 a second", Limit{100, 100, time.Second}, 20},
	{"6000 a minute", Limit{6000, 6000, time.Minute}, 100},
	{"100 000 an hour", Limit{100_000, 100_000, time.Hour}, 100},
	{"20 a minute", Limit{20, 20, time.Minute}, 100},
	{"10 a second", Limit{10, 10, time.Second}, 5},
}

// Under steady uneven demand beyond the limit, Envoys grant at least nine tenths of it after 15 seconds.
func TestUtilisation(t *testing.T) {
	for _, kind := range kinds {
		for _, times := range []float64{0.9, 1.2, 2, 10} {
			for _, random := range []bool{false, true} {
				w := newWorld(1, kind.limit, 3, uneven(kind.envoys, kind.limit.perSecond()*times)...)
				w.isRandom = random
				w.run(15 * time.Second)
				before := w.granted()
				w.run(60 * time.Second)
				used := float64(w.granted()-before) / (kind.limit.perSecond() * min(times, 1) * 60)
				t.Logf("%s, random %v, demand %v: %.1f %% used, highest level %.1f, %d assignments", kind.name, random, times, 100*used, w.highest, w.sent)
				if used < 0.9 {
					t.Errorf("%s, demand %v: %.1f %% used", kind.name, times, 100*used)
				}
				if w.highest > float64(kind.limit.Capacity)+1 {
					t.Errorf("%s, demand %v: %.1f granted beyond the rate", kind.name, times, w.highest)
				}
			}
		}
	}
}
