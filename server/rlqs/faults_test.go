package rlqs

import (
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

// trouble has streams cut, nodes killed, home silent, and demands changed, at random.
func (w *world) trouble() {
	for range 40 {
		w.run(time.Duration(1+w.r.IntN(3000)) * time.Millisecond)
		f := w.envoys[w.r.IntN(len(w.envoys))]
		switch w.r.IntN(8) {
		case 0, 1:
			w.cut(f)
		case 2:
			w.kill(w.r.IntN(len(w.nodes)))
		case 3:
			w.down = w.now + time.Duration(w.r.Int64N(int64(40*time.Second)))
		case 4, 5:
			f.rate = w.limit.perSecond() * 3 * w.r.Float64()
		case 6:
			f.rate = 0
		case 7:
			for _, f := range w.envoys {
				f.rate = w.limit.perSecond() * 4 * w.r.Float64() / float64(len(w.envoys))
			}
		}
	}
}

// All Envoys together grant no more than the limit in any interval, whatever streams, nodes and the home of the limit do.
func TestNeverBeyondTheLimit(t *testing.T) {
	for _, kind := range kinds {
		used := 0.0
		for seed := range uint64(testsize.Pick(3, 100)) {
			w := newWorld(seed, kind.limit, 3, uneven(min(kind.envoys, 30), kind.limit.perSecond()*2)...)
			w.isRandom = true
			w.trouble()
			if w.highest > float64(kind.limit.Capacity)+1e-6 {
				t.Errorf("%s, seed %d: %.3f granted beyond the rate", kind.name, seed, w.highest)
			}
			used += float64(w.granted()) / (kind.limit.perSecond() * w.now.Seconds())
			w.home.Close()
		}
		t.Logf("%s: %.1f times the rate", kind.name, used/float64(testsize.Pick(3, 100)))
	}
}
