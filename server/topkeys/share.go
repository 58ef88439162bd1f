package topkeys

import (
	"hash/maphash"
	"math"
)

// Share is what became of the requests of one key from Since on: Since is the beginning of the window, or later where
// the key got its counter later. The zero value is that of a key without a counter.
type Share struct {
	Since  int64 // in nanoseconds by the clock of [Sketch.Offer]
	Denied int64
	Passed int64
	Error  float64 // most by which Part is off in all but 3 of 1000 cases; 0 if every request was counted
}

// Part is the share of the requests that was denied, from 0 to 1.
func (s Share) Part() float64 {
	if s.Denied == 0 {
		return 0
	}
	return float64(s.Denied) / float64(s.Denied+s.Passed)
}

// Pass counts a request for a key that was due at a time and was not denied because of it. It only counts for keys that
// have a counter.
func (s *Sketch) Pass(key []byte, now int64, at *Sampler) {
	if !s.counting.Load() {
		return
	}
	hash := maphash.Bytes(s.seed, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.turn(now)
	if c := p.counterOf(hash); c != nil {
		c.passed += at.weight
		c.passedVariance += at.weight * (at.weight - 1)
	}
	s.counting.Store(len(p.counters) > 0)
}

// IsCounting reports whether any key has a counter, so that Pass may count for it.
func (s *Sketch) IsCounting() bool { return s.counting.Load() }

// Next ends one occurrence that was due, whatever keys it counted for.
func (s *Sketch) Next(at *Sampler) { at.left = s.skips(at) }

// AdaptPassed is [Sketch.Adapt] for requests that passed.
func (s *Sketch) AdaptPassed(occurrences, nanos int64) {
	if nanos > 0 {
		s.passes.Store(weightFor(occurrences, nanos))
	}
}

// share adds up the panes, from the current one back, in which a key has had a counter without a break. The caller
// holds mu.
func (s *Sketch) share(hash uint64, now int64) (sum Share) {
	var denied, passed float64 // variances
	for back := range panes {
		i := (s.current - back + panes) % panes
		p := s.panes[i]
		if p == nil || now >= s.started[i]+int64(Window) {
			break
		}
		c := p.counterOf(hash)
		if c == nil {
			break
		}
		sum.Since = c.since
		sum.Denied += c.count - c.over
		sum.Passed += c.passed
		denied += float64(c.variance)
		passed += float64(c.passedVariance)
		if c.since > s.started[i] || !p.follows {
			break
		}
	}
	if all := float64(sum.Denied + sum.Passed); all > 0 { // the variance of a quotient, to the first order
		d, p := float64(sum.Denied)/all, float64(sum.Passed)/all
		sum.Error = min(1, 3*math.Sqrt(p*p*denied+d*d*passed)/all)
	}
	return sum
}

// minutes are the panes in which a key has a counter. The caller holds mu.
func (s *Sketch) minutes(hash uint64, now int64) (all []Minute) {
	for back := range panes {
		i := (s.current - back + panes) % panes
		p := s.panes[i]
		if p == nil || now >= s.started[i]+int64(Window) {
			continue
		}
		if c := p.counterOf(hash); c != nil {
			all = append(all, Minute{s.started[i], c.count - c.over, c.passed})
		}
	}
	return all
}
