package rlqs

import (
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

// trouble cuts streams, kills nodes, silences home for at most a time and changes demands, at random.
func (w *world) trouble(most time.Duration) {
	for range 60 {
		w.run(time.Duration(1+w.r.IntN(2500)) * time.Millisecond)
		f := w.envoys[w.r.IntN(len(w.envoys))]
		switch w.r.IntN(8) {
		case 0, 1:
			w.cut(f)
		case 2:
			if w.r.IntN(4) == 0 {
				w.kill(w.r.IntN(len(w.nodes)))
			}
		case 3:
			if w.r.IntN(2) == 0 {
				w.down = w.now + time.Duration(w.r.Int64N(int64(most)))
			}
		case 4, 5:
			f.rate = w.limit.perSecond() * 3 * w.r.Float64()
		case 6:
			f.rate = 0
		case 7:
			for _, f := range w.envoys {
				f.rate = w.limit.perSecond() * 6 * w.r.Float64() / float64(len(w.envoys))
			}
		}
	}
}

// envoysOf returns the number of Envoys in a history: a hundred in the first, twelve in others.
func envoysOf(seed uint64) int {
	if seed == 0 {
		return 100
	}
	return 12
}

// beyond runs random histories. It returns the largest part of a limit's capacity that Envoys have granted in an
// interval beyond its rate, and the largest part that they had and home had not set aside.
func beyond(t *testing.T, limit Limit, seeds int, change func(*world)) (most, unlent float64) {
	used := 0.0
	for seed := range uint64(seeds) {
		w := newWorld(seed+testsize.Seed(), limit, 3, uneven(envoysOf(seed), limit.perSecond()*3)...)
		w.isRandom = true
		if change != nil {
			change(w)
		}
		w.trouble([]time.Duration{3 * time.Second, 40 * time.Second}[seed%2])
		most = max(most, w.highest)
		unlent = max(unlent, w.unlent)
		used += float64(w.granted()) / (limit.perSecond() * w.now.Seconds()) / float64(seeds)
		w.home.Close()
	}
	t.Logf("%v: %.3f of the capacity beyond the rate, %.3f not set aside, %.2f of the rate used", limit, most, unlent, used)
	return most, unlent
}

// changes changes the limit down and up, and from a limit that is divided by rates to one that is divided by tokens.
func (w *world) changes() {
	first := w.limit
	for range 12 {
		w.run(time.Duration(1+w.r.IntN(30)) * time.Second)
		l := first
		switch w.r.IntN(4) {
		case 0:
			l.Capacity, l.Tokens = max(1, l.Capacity/10), max(1, l.Tokens/10)
		case 1:
			l.Capacity = max(1, l.Capacity/2)
		case 2:
			l.Period *= 60
		}
		w.change(l)
		f := w.envoys[w.r.IntN(len(w.envoys))]
		switch w.r.IntN(3) {
		case 0:
			w.cut(f)
		case 1:
			w.down = w.now + time.Duration(w.r.Int64N(int64(3*time.Second)))
		}
	}
	w.run(time.Minute)
}

// While a limit changes, all Envoys together grant no more than the largest limit that was in force shortly before.
// After that they grant no more than the new one.
func TestChangedLimits(t *testing.T) {
	for _, limit := range faultLimits {
		most, unlent := 0.0, 0.0
		for seed := range uint64(testsize.Pick(5, 300)) {
			w := newWorld(seed+testsize.Seed(), limit, 3, uneven(envoysOf(seed), limit.perSecond()*3)...)
			w.isRandom = true
			w.changes()
			most, unlent = max(most, w.highest), max(unlent, w.unlent)
			w.home.Close()
		}
		t.Logf("%v: %.3f of the capacity beyond the rate, %.3f not set aside", limit, most, unlent)
		if most > 1+1e-9 || unlent > 1e-9 {
			t.Errorf("%v: %.4f of the capacity granted beyond the rate, %.4f not set aside", limit, most, unlent)
		}
	}
}

var faultLimits = []Limit{{1000, 1000, time.Second}, {100, 100, time.Second}, {40, 10, time.Second}, {1200, 1200, time.Minute}, {3000, 3000, time.Hour}, {3, 1, time.Second}}

// All Envoys together grant no more than the limit in any interval, whatever streams, nodes and the home of the limit
// do.
func TestNeverBeyondTheLimit(t *testing.T) {
	for _, limit := range faultLimits {
		if most, unlent := beyond(t, limit, testsize.Pick(5, 300), nil); most > 1+1e-9 || unlent > 1e-9 {
			t.Errorf("%v: %.4f of the capacity granted beyond the rate, %.4f not set aside", limit, most, unlent)
		}
	}
}

// Faults put into the world are found in the same histories: the bound depends on these times.
func TestFaultsAreFound(t *testing.T) {
	for name, change := range map[string]func(*world){
		"home takes loans back before assignments end": func(w *world) { w.loanTTL = TTL / 4 },
		"assignments arrive later than the margin":     func(w *world) { w.late = 20 * time.Second },
	} {
		found := false
		for _, limit := range faultLimits {
			if _, unlent := beyond(t, limit, 10, change); unlent > 1e-9 {
				found = true
				break
			}
		}
		if !found {
			t.Errorf("%s: Envoys have only what is set aside", name)
		}
	}
}
