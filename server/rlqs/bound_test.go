package rlqs

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// uneven returns demands with a sum, of which some are ten times as large as others.
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

// Under steady uneven demand a hundred Envoys grant at least nine tenths of the limit, or of their demand, after 15
// seconds. With few tokens for each Envoy they grant less: a bucket of one or two tokens is often full, and requests
// that come at random times are often too close to each other.
func TestUtilisation(t *testing.T) {
	for _, kind := range []struct {
		limit         Limit
		envoys        int
		steady, least float64 // requests at even distances, and at random times
	}{
		{Limit{1000, 1000, time.Second}, 100, 0.9, 0.8},
		{Limit{5000, 1000, time.Second}, 100, 0.9, 0.9},
		{Limit{6000, 6000, time.Minute}, 100, 0.9, 0.9},
		{Limit{100_000, 100_000, time.Hour}, 100, 0.9, 0.9},
		{Limit{100, 100, time.Second}, 3, 0.9, 0.85},
		{Limit{100, 100, time.Second}, 20, 0.8, 0.7},
		{Limit{10, 10, time.Second}, 5, 0.5, 0.4},
	} {
		for _, times := range []float64{0.9, 1.2, 2, 10} {
			for _, random := range []bool{false, true} {
				name := fmt.Sprintf("%v, %d Envoys, %v times the rate, random %v", kind.limit, kind.envoys, times, random)
				w := newWorld(1, kind.limit, 3, uneven(kind.envoys, kind.limit.perSecond()*times)...)
				w.isRandom = random
				w.run(15 * time.Second)
				before := w.granted()
				w.run(45 * time.Second)
				used := float64(w.granted()-before) / (kind.limit.perSecond() * min(times, 1) * 45)
				least := kind.steady
				if random {
					least = kind.least
				}
				if t.Logf("%s: %.1f %% used, %d assignments", name, 100*used, w.sent); used < least {
					t.Errorf("%s: %.1f %% used", name, 100*used)
				}
				if w.highest > 1+1e-9 || w.unlent > 1e-9 {
					t.Errorf("%s: %.4f of the capacity granted beyond the rate, %.3f not set aside", name, w.highest, w.unlent)
				}
				w.home.Close()
			}
		}
	}
}

// After 15 seconds three Envoys that began together use the limit, though the first to report was given nearly all of
// it.
func TestUtilisationAfterABegin(t *testing.T) {
	limit := Limit{300, 300, time.Second}
	for _, random := range []bool{false, true} {
		w := newWorld(1, limit, 3, 100, 200, 400)
		w.isRandom = random
		w.run(15 * time.Second)
		before := w.granted()
		w.run(5 * time.Second)
		used := float64(w.granted()-before) / (5 * limit.perSecond())
		if t.Logf("random %t: %.1f %% used in 5 seconds", random, 100*used); used < 0.9 {
			t.Errorf("random %t: %.1f %% used in 5 seconds", random, 100*used)
		}
		w.home.Close()
	}
}

// grantedIn returns the rate at which an Envoy grants, per second.
func (w *world) grantedIn(f *filter, span time.Duration) float64 {
	before := f.granted
	w.run(span)
	return float64(f.granted-before) / span.Seconds()
}

// A newcomer gets its part within two reports, though others have used up the whole limit. An idle Envoy gives its part
// back.
func TestNewcomer(t *testing.T) {
	limit := Limit{1000, 1000, time.Second}
	w := newWorld(1, limit, 3, slices.Repeat([]float64{500}, 5)...)
	w.envoys[0].rate = 0
	w.run(30 * time.Second)
	w.envoys[0].rate = 500
	w.run(2 * reportsEvery)
	if got := w.grantedIn(w.envoys[0], 5*time.Second); got < 0.8*1000/5 {
		t.Errorf("a newcomer among 5 grants %.0f of 1000 a second", got)
	}
	for _, f := range w.envoys[1:] {
		f.rate = 0
	}
	w.run(15 * time.Second)
	if got := w.grantedIn(w.envoys[0], 5*time.Second); got < 480 {
		t.Errorf("beside idle Envoys it grants %.0f of its 500 a second", got)
	}
}

// A limit that was changed is used as well as one that never was.
func TestChangedLimitIsUsed(t *testing.T) {
	w := newWorld(1, Limit{1000, 1000, time.Second}, 3, uneven(20, 10_000)...)
	for _, l := range []Limit{{100, 100, time.Second}, {5000, 2000, time.Second}, {6000, 6000, time.Minute}, {2000, 1000, time.Second}} {
		w.run(20 * time.Second)
		w.change(l)
		w.run(30 * time.Second)
		before := w.granted()
		w.run(30 * time.Second)
		used := float64(w.granted()-before) / (l.perSecond() * 30)
		if t.Logf("%v: %.1f %% used", l, 100*used); used < 0.8 || w.highest > 1+1e-9 || w.unlent > 1e-9 {
			t.Errorf("%v: %.1f %% used, %.4f of the capacity granted beyond the rate, %.4f not set aside", l, 100*used, w.highest, w.unlent)
		}
	}
}

// Of a limit with fewer tokens than Envoys some Envoys have all, and the others deny.
func TestSmallLimit(t *testing.T) {
	w := newWorld(1, Limit{5, 5, time.Minute}, 1, slices.Repeat([]float64{2}, 50)...)
	w.run(time.Minute)
	have := 0
	for _, f := range w.envoys {
		if f.kind == Bucket {
			have++
		}
	}
	if have == 0 || have > 5 {
		t.Errorf("%d of 50 Envoys have a bucket of 5 a minute", have)
	}
	if n := w.granted(); n < 5 || n > 10 {
		t.Errorf("%d are granted in a minute of 5 and 5 a minute", n)
	}
}

// An Envoy that is alone may use nearly half of the rate from its first report on, before a second report tells its
// demand. Others that begin at the same time get a part of the rest.
func TestFirstShare(t *testing.T) {
	for _, limit := range []Limit{{20, 20, time.Second}, {1000, 1000, time.Second}} {
		for envoys := 1; envoys <= 4; envoys++ {
			w := newWorld(1, limit, 3, slices.Repeat([]float64{limit.perSecond()}, envoys)...)
			w.run(time.Second)
			before := w.granted()
			w.run(3 * time.Second)
			got, least := float64(w.granted()-before)/(3*limit.perSecond()), 0.35
			if t.Logf("%v: %d Envoys grant %.2f of the rate before their second report", limit, envoys, got); got < least || w.highest > 1+1e-9 || w.unlent > 1e-9 {
				t.Errorf("%v: %d Envoys grant %.2f of the rate; %.3f of the capacity beyond it, %.3f not set aside", limit, envoys, got, w.highest, w.unlent)
			}
			w.home.Close()
		}
	}
}
