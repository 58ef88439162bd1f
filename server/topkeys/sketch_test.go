package topkeys

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// offer has a key come once.
func offer(s *Sketch, at *Sampler, key string, now int64) {
	s.Follow(at)
	if at.Due() {
		s.Offer([]byte(key), now, at)
		s.Next(at)
	}
}

// zipf draws keys as traffic has them: a few come very often, most seldom.
func zipf(seed uint64) func() string {
	z := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), 1.1, 1, 200_000)
	return func() string { return fmt.Sprint("user:", z.Uint64()) }
}

// Against an exact count: the counts of a sketch are within its stated bounds, and no frequent key is missing. The
// samples are drawn from a seed, so that runs repeat; the bound on how many keys may lie
// outside is the one that [Entry] states, over many drawings.
func TestAgainstExactCount(t *testing.T) {
	const draws, listed = 1_000_000, 100
	keys, exact, draw := make([]string, draws), map[string]int64{}, zipf(7)
	for i := range keys {
		keys[i] = draw()
		exact[keys[i]]++
	}
	for _, tc := range []struct{ weight, drawings int64 }{{1, 1}, {16, 10}, {256, 10}} {
		outside := 0
		for drawing := range tc.drawings {
			s, at := NewSketch(), Sampler{}
			s.random = rand.New(rand.NewPCG(uint64(drawing), 2)).ExpFloat64
			s.weight.Store(tc.weight)
			for i, key := range keys {
				offer(s, &at, key, int64(i)*int64(3*time.Minute)/draws) // over three panes
			}
			entries, total := s.Top(listed, int64(3*time.Minute))
			if deviation := math.Sqrt(float64(draws * (tc.weight - 1))); math.Abs(float64(total-draws)) > 5*deviation {
				t.Errorf("weight %d: %d in all, want %d ± %.0f", tc.weight, total, draws, 5*deviation)
			}
			found := map[string]bool{}
			for _, e := range entries {
				found[string(e.Key)] = true
				times, most := exact[string(e.Key)], e.Count+e.Error
				if tc.weight == 1 {
					most = e.Count
				}
				if times > most || times < e.Count-e.Error {
					outside++
					t.Logf("weight %d: %s came %d times, not %d ± %d", tc.weight, e.Key, times, e.Count, e.Error)
				}
			}
			for key, n := range exact {
				if n > 2*draws/Counters+samplingError(n, n*(tc.weight-1)) && !found[key] {
					t.Errorf("weight %d: %s came %d times of %d and is not listed", tc.weight, key, n, draws)
				}
			}
		}
		allowed := 0
		if tc.weight > 1 {
			allowed = int(tc.drawings) * listed * 3 / 1000
		}
		if outside > allowed {
			t.Errorf("weight %d: %d of %d keys are outside of their bounds, at most %d may be", tc.weight, outside, tc.drawings*listed, allowed)
		}
	}
}

// Occurrences before the window no longer count.
func TestWindow(t *testing.T) {
	s, at := NewSketch(), Sampler{}
	for minute := range 10 {
		for range minute + 1 {
			offer(s, &at, "k", int64(time.Duration(minute)*time.Minute))
		}
	}
	now := int64(9 * time.Minute)
	if entries, total := s.Top(1, now); len(entries) != 1 || entries[0].Count != 10+9+8+7+6 || entries[0].Error != 0 || total != 40 {
		t.Errorf("%v of %d", entries, total)
	}
	if entries, total := s.Top(1, now+int64(Window)); len(entries) != 0 || total != 0 {
		t.Errorf("after a window without any: %v of %d", entries, total)
	}
	offer(s, &at, "j", now+int64(Window))
	if entries, _ := s.Top(5, now+int64(Window)); len(entries) != 1 || string(entries[0].Key) != "j" {
		t.Errorf("%v", entries)
	}
}

// More keys than counters: the smallest counters change hands, and the bound on the error grows accordingly.
func TestMoreKeysThanCounters(t *testing.T) {
	s, at := NewSketch(), Sampler{}
	for i := range 10 * Counters {
		offer(s, &at, fmt.Sprint("once:", i), 0)
		offer(s, &at, "hot", 0)
	}
	entries, total := s.Top(2, 0)
	if string(entries[0].Key) != "hot" || entries[0].Count != 10*Counters || total != 20*Counters {
		t.Errorf("%+v of %d", entries[0], total)
	}
	if e := entries[1]; e.Count-e.Error > 1 {
		t.Errorf("%s came once, and at least %d times is claimed", e.Key, e.Count-e.Error)
	}
	if e := entries[1]; e.Error > 20*Counters/Counters {
		t.Errorf("an error of %d is more than 1 in %d of all", e.Error, Counters)
	}
}

// Long keys stay distinct although only a prefix is kept.
func TestLongKeys(t *testing.T) {
	s, at := NewSketch(), Sampler{}
	long := make([]byte, 4096)
	offer(s, &at, string(long)+"a", 0)
	offer(s, &at, string(long)+"b", 0)
	entries, _ := s.Top(5, 0)
	if len(entries) != 2 || len(entries[0].Key) != MaxKeyBytes || entries[0].Size != 4097 {
		t.Errorf("%d entries", len(entries))
	}
}

// At high rates only some occurrences are looked at, and at low ones all of them, at once.
func TestAdapt(t *testing.T) {
	s, at := NewSketch(), Sampler{}
	for _, tc := range []struct{ perSecond, weight int64 }{{0, 1}, {50_000, 1}, {50_001, 8}, {100_000, 8}, {1_600_000, 128}, {1 << 40, maxWeight}, {10, 1}} {
		s.Adapt(tc.perSecond/10, int64(100*time.Millisecond))
		if perSecond := tc.perSecond / 10 * 10; s.Weight() != tc.weight && perSecond == tc.perSecond {
			t.Errorf("%d a second: weight %d, want %d", tc.perSecond, s.Weight(), tc.weight)
		}
		s.Follow(&at)
	}
	if !at.Due() {
		t.Error("passed over although all are to be looked at")
	}
}

func TestNothingIsAllocated(t *testing.T) {
	s, at, i := NewSketch(), Sampler{}, 0
	keys := make([][]byte, 5000)
	for i := range keys {
		keys[i] = fmt.Append(nil, "key:", i)
	}
	s.Follow(&at)
	s.Offer(keys[0], 0, &at)
	if n := testing.AllocsPerRun(20_000, func() {
		if at.Due() {
			s.Offer(keys[i%len(keys)], 0, &at)
			s.Next(&at)
		}
		i++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOffer(b *testing.B) {
	s, at, draw := NewSketch(), Sampler{}, zipf(1)
	keys := make([][]byte, 1<<16)
	for i := range keys {
		keys[i] = []byte(draw())
	}
	s.Follow(&at)
	for i := range b.N {
		if at.Due() {
			s.Offer(keys[i%len(keys)], 0, &at)
			s.Next(&at)
		}
	}
}
