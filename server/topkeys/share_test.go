package topkeys

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// pass has a request for a key pass.
func pass(s *Sketch, at *Sampler, key string, now int64) {
	s.FollowPassed(at)
	if at.Due() {
		s.Pass([]byte(key), now, at)
		s.Next(at)
	}
}

func ownOf(s *Sketch, key string, now int64) Share {
	entries, _ := s.Top(math.MaxInt, now)
	for _, e := range entries {
		if string(e.Key) == key {
			return e.Own
		}
	}
	return Share{}
}

// The requests of a key are counted from the moment it has a counter, through the minutes that follow.
func TestShare(t *testing.T) {
	s, denied, passed := NewSketch(), Sampler{}, Sampler{}
	minute := func(n float64) int64 { return int64(n * float64(time.Minute)) }
	expect := func(now float64, key string, want Share) {
		t.Helper()
		if got := ownOf(s, key, minute(now)); got != want {
			t.Errorf("%s after %v minutes: %+v, want %+v", key, now, got, want)
		}
	}
	pass(s, &passed, "k", 0) // nobody is counted yet
	offer(s, &denied, "k", minute(0.1))
	pass(s, &passed, "k", minute(0.2))
	pass(s, &passed, "other", minute(0.2))
	expect(0.2, "k", Share{Since: minute(0.1), Denied: 1, Passed: 1})
	offer(s, &denied, "late", minute(0.5))
	expect(0.5, "late", Share{Since: minute(0.5), Denied: 1})
	for n := range 4 { // a quarter is denied, also where a minute begins with what passes
		at := 1.2 + float64(n)
		for range 3 {
			pass(s, &passed, "k", minute(at))
		}
		offer(s, &denied, "k", minute(at+0.1))
	}
	expect(4.5, "k", Share{Since: minute(0.1), Denied: 5, Passed: 13})
	if own := ownOf(s, "k", minute(4.5)); own.Part() != 5.0/18 {
		t.Errorf("part %v", own.Part())
	}
	expect(4.5, "late", Share{Since: minute(0.5), Denied: 1})
	pass(s, &passed, "k", minute(5.3)) // the first minute is left out from here on
	expect(5.3, "k", Share{Since: minute(1.2), Denied: 4, Passed: 13})
	expect(5.3, "late", Share{})

	offer(s, &denied, "k", minute(7.9)) // after a break in which nothing was counted
	expect(7.9, "k", Share{Since: minute(7.9), Denied: 1})
	if (Share{}).Part() != 0 {
		t.Error("a key without requests has a share")
	}
}

// The minutes of a key say when it was denied and when it passed.
func TestMinutes(t *testing.T) {
	s, denied, passed := NewSketch(), Sampler{}, Sampler{}
	offer(s, &denied, "k", 0)
	pass(s, &passed, "k", 1)
	offer(s, &denied, "k", int64(time.Minute))
	offer(s, &denied, "k", int64(time.Minute)+1)
	entries, _ := s.Top(1, int64(time.Minute)+2)
	if want := []Minute{{int64(time.Minute), 2, 0}, {0, 1, 1}}; !slices.Equal(entries[0].Minutes, want) {
		t.Errorf("%+v, want %+v", entries[0].Minutes, want)
	}
	entries, _ = s.Top(1, int64(Window))
	if len(entries[0].Minutes) != 1 {
		t.Errorf("a minute before the window is there: %+v", entries[0].Minutes)
	}
}

// A counter that changes hands begins again at zero, and keys of earlier minutes make room for new ones without an
// error.
func TestShareOfTakenCounters(t *testing.T) {
	s, denied, passed := NewSketch(), Sampler{}, Sampler{}
	for i := range Counters {
		offer(s, &denied, fmt.Sprint("old:", i), 0)
		pass(s, &passed, fmt.Sprint("old:", i), 0)
	}
	for range 3 {
		offer(s, &denied, "new", 1)
	}
	pass(s, &passed, "new", 2)
	if got := ownOf(s, "new", 2); got != (Share{Since: 1, Denied: 3, Passed: 1}) {
		t.Errorf("a counter taken over: %+v", got)
	}
	next := int64(time.Minute)
	for i := range Counters {
		offer(s, &denied, fmt.Sprint("next:", i), next)
	}
	entries, total := s.Top(math.MaxInt, next)
	for _, e := range entries {
		if string(e.Key) == "next:7" && e.Count-e.Error != 1 {
			t.Errorf("%+v of %d", e, total)
		}
	}
	if got := ownOf(s, "next:7", next); got != (Share{Since: next, Denied: 1}) {
		t.Errorf("in the next minute: %+v", got)
	}
}

// Where only some requests are looked at, a share is within its bounds.
func TestShareOfSamples(t *testing.T) {
	const keys, outsideAllowed = 300, 3
	outside, draw := 0, rand.New(rand.NewPCG(3, 4))
	for n := range keys {
		s, denied, passed := NewSketch(), Sampler{}, Sampler{}
		s.random = rand.New(rand.NewPCG(uint64(n), 2)).ExpFloat64
		s.weight.Store(8)
		s.passes.Store(32)
		want := 0.1 + 0.8*draw.Float64()
		for range 20_000 {
			if draw.Float64() < want {
				offer(s, &denied, "k", 1)
			} else {
				pass(s, &passed, "k", 1)
			}
		}
		if own := ownOf(s, "k", 1); own.Error == 0 || own.Error > 0.2 || math.Abs(own.Part()-want) > own.Error {
			outside++
			t.Logf("%.3f ± %.3f, want %.3f", own.Part(), own.Error, want)
		}
	}
	if outside > outsideAllowed {
		t.Errorf("%d of %d keys are outside of their bounds", outside, keys)
	}
}

func BenchmarkPass(b *testing.B) {
	s, denied, at, draw := NewSketch(), Sampler{}, Sampler{}, zipf(1)
	keys := make([][]byte, 1<<16)
	for i := range keys {
		keys[i] = []byte(draw())
		offer(s, &denied, string(keys[i]), 0)
	}
	s.FollowPassed(&at)
	for i := range b.N {
		if at.Due() {
			s.Pass(keys[i%len(keys)], 0, &at)
			s.Next(&at)
		}
	}
}
