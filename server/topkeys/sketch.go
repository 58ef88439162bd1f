package topkeys

import (
	"cmp"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	panes    = 5
	paneTime = int64(time.Minute)
	// Window is how far back a sketch looks, and at least Window less a minute: older counts are dropped a minute at a
	// time.
	Window = panes * time.Minute

	// Up to wholePerSecond, every occurrence is looked at. Beyond it, at most sampledPerSecond are, and each stands for
	// several: looking at one takes as long as deciding another.
	wholePerSecond   = 50_000
	sampledPerSecond = 12_500
	maxWeight        = 1 << 14
)

// Sketch counts keys over the last minutes. Its methods may be called from any goroutine.
type Sketch struct {
	seed     maphash.Seed
	random   func() float64 // exponentially distributed, with a mean of 1
	weight   atomic.Int64
	passes   atomic.Int64 // the weight of requests that passed
	counting atomic.Bool  // the current pane has counters

	mu      sync.Mutex
	panes   [panes]*summary // nil until used
	started [panes]int64    // when each began
	current int
}

// NewSketch returns an empty sketch.
func NewSketch() *Sketch {
	s := &Sketch{seed: maphash.MakeSeed(), random: rand.ExpFloat64}
	s.weight.Store(1)
	s.passes.Store(1)
	return s
}

// Sampler chooses which of a caller's occurrences are offered. The zero value is ready for [Sketch.Follow]; one
// goroutine uses it.
type Sampler struct {
	weight int64
	mean   float64 // -1/ln(1-1/weight): the exponential distribution of that mean, rounded down, is how many to pass over
	left   int     // to pass over
}

// Follow gives a sampler the sketch's weight. It is called before each batch of occurrences, and not for each.
func (s *Sketch) Follow(at *Sampler) { s.follow(at, s.weight.Load()) }

// FollowPassed is Follow for a sampler of requests that passed.
func (s *Sketch) FollowPassed(at *Sampler) { s.follow(at, s.passes.Load()) }

func (s *Sketch) follow(at *Sampler, weight int64) {
	if weight != at.weight { // the remaining gap is memoryless, so it can be redrawn
		at.weight, at.mean = weight, -1/math.Log1p(-1/float64(weight))
		at.left = s.skips(at)
	}
}

// Due reports whether an occurrence is to be offered: at high rates only some are.
func (at *Sampler) Due() bool {
	at.left--
	return at.left < 0
}

// Offer counts a key that was due at a time, in nanoseconds that do not go back. [Sketch.Next] follows.
func (s *Sketch) Offer(key []byte, now int64, at *Sampler) {
	hash := maphash.Bytes(s.seed, key)
	s.mu.Lock()
	s.turn(now).add(hash, key, at.weight, now)
	s.counting.Store(true)
	s.mu.Unlock()
}

// skips returns how many occurrences to pass over, so that each is offered with a probability of 1 in weight.
func (s *Sketch) skips(at *Sampler) int {
	if at.weight == 1 {
		return 0
	}
	return int(s.random() * at.mean)
}

// turn returns the pane for a time. The caller holds mu.
func (s *Sketch) turn(now int64) *summary {
	p := s.panes[s.current]
	if p != nil && now < s.started[s.current]+paneTime {
		return p
	}
	before, follows := p, p != nil && now < s.started[s.current]+2*paneTime
	if p != nil {
		s.current = (s.current + 1) % panes
	}
	if p = s.panes[s.current]; p == nil {
		p = newSummary()
		s.panes[s.current] = p
	}
	p.reset()
	if follows {
		p.follow(before, now)
	}
	s.started[s.current] = now
	return p
}

// Adapt takes the number of occurrences in a span of nanoseconds, and chooses how many of them each offered one stands
// for from here on.
func (s *Sketch) Adapt(occurrences, nanos int64) {
	if nanos > 0 {
		s.weight.Store(weightFor(occurrences, nanos))
	}
}

// weightFor returns how many occurrences each offered one stands for, at a rate of occurrences in a span of
// nanoseconds.
func weightFor(occurrences, nanos int64) int64 {
	rate := float64(occurrences) * 1e9 / float64(nanos)
	weight := int64(1)
	if rate > wholePerSecond {
		for weight < maxWeight && rate/float64(weight) > sampledPerSecond {
			weight *= 2
		}
	}
	return weight
}

// Weight is how many occurrences each offered one stands for; with 1, all are counted.
func (s *Sketch) Weight() int64 { return s.weight.Load() }

// Entry is a key and how often it came. Without sampling, Count-Error ≤ the true number ≤ Count. Where some of the
// occurrences stood for more than one, the true number is within Error of Count in all but 3 of 1000 cases.
type Entry struct {
	Key   []byte // at most MaxKeyBytes of it
	Size  int    // of the whole key
	Count int64
	Error int64
	Own   Share

	Minutes []Minute // the newest first

	hash uint64
}

// Minute counts the requests of one key in one of the last minutes, while it had a counter.
type Minute struct {
	Start  int64 // by the clock of [Sketch.Offer]
	Denied int64 // at least
	Passed int64
}

// Top returns the n keys that came most often in the window up to now, and how many occurrences there were of all.
func (s *Sketch) Top(n int, now int64) (entries []Entry, total int64) {
	type sum struct {
		Entry
		variance int64
		panes    int64 // the smallest counts of the panes it is in
	}
	sums := map[uint64]*sum{}
	smallest := int64(0)
	s.mu.Lock()
	for i, p := range s.panes {
		if p == nil || now >= s.started[i]+int64(Window) {
			continue
		}
		total += p.total
		smallest += p.smallest()
		for number := range p.counters {
			c := &p.counters[number]
			if c.count == 0 {
				continue // it came in an earlier pane
			}
			k := sums[c.hash]
			if k == nil {
				k = &sum{Entry: Entry{Key: slices.Clone(p.key(number)), Size: c.size, hash: c.hash}}
				sums[c.hash] = k
			}
			k.Count += c.count
			k.Error += c.over
			k.variance += c.variance
			k.panes += p.smallest()
		}
	}
	s.mu.Unlock()
	for _, k := range sums {
		missed := smallest - k.panes // it may have come that often where it has no counter
		sampling := samplingError(k.Count-k.Error, k.variance)
		k.Count += missed
		k.Error += missed + sampling
		entries = append(entries, k.Entry)
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Count-b.Error, a.Count-a.Error), cmp.Compare(b.Count, a.Count),
			slices.Compare(a.Key, b.Key))
	})
	entries = entries[:min(n, len(entries))]
	s.mu.Lock()
	for i := range entries {
		entries[i].Own, entries[i].Minutes = s.share(entries[i].hash, now), s.minutes(entries[i].hash, now)
	}
	s.mu.Unlock()
	return entries, total
}

// samplingError is by how much the true number n is off an estimate in no more than 3 of 1000 cases. The variance of an
// estimate is r·n, where r is the weight of each occurrence less one. The estimate of r is variance/estimate, so that n
// is where |n - estimate| ≤ 3·√(r·n), three standard deviations of what would have been drawn were n the truth:
// Wilson's score interval, which holds for keys of which few occurrences were looked at too. It reaches farther up than
// down.
func samplingError(estimate, variance int64) int64 {
	if variance == 0 {
		return 0
	}
	r := float64(variance) / float64(estimate)
	return int64(math.Ceil(4.5*r + 3*math.Sqrt(float64(variance)+2.25*r*r)))
}
