package store

import (
	"crypto/sha256"
	"math"

	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/limits"
)

func hashOfClass(key []byte) classHash {
	sum := sha256.Sum256(key)
	return classHash(sum[:16])
}

// scanClass reads a node at the time of the call and changes nothing.
func (c *call) scanClass() *classScan {
	s := &c.class
	*s = classScan{taken: c.takenClass(), nextEnd: math.MaxInt64}
	s.free = max(0, c.limit.Capacity-s.taken.DivideUp(uint64(c.limit.Rate.Period)))
	if c.isNew {
		s.hash = hashOfClass(c.op.Key)
		return s
	}
	state := classState(c.state)
	s.hash = state.hash()
	if s.assured = state.assured(); s.assured.Capacity > 0 {
		s.used = loadMeter(state[24:]).taken(c.now, s.assured.Rate)
		if s.end = state.u64(64); s.end > c.now {
			s.own = s.assured.Capacity
		}
	}
	s.alive, s.nextEnd = state.children(), state.u64(80)
	if s.children = state.u64(72); s.alive > 0 && s.nextEnd <= c.now {
		s.isSwept, s.alive, s.children, s.nextEnd = true, 0, 0, math.MaxInt64
		for i := range state.children() {
			if child := state.child(i); childEnd(child) > c.now {
				s.alive, s.children, s.nextEnd = s.alive+1, s.children+childCapacity(child), min(s.nextEnd, childEnd(child))
			}
		}
		c.result.Work += state.children()
	}
	return s
}

// takenClass is takenUnder of a node.
func (c *call) takenClass() uint128.Int {
	if c.isNew {
		return uint128.Int{}
	}
	taken := loadMeter(c.state[8:]).taken(c.now, c.prev.Rate)
	if c.prev.Rate != c.limit.Rate {
		taken = carryOver(taken, c.prev.Rate, c.limit.Rate)
	}
	return taken
}

// register registers the child that asks, in the scan.
func (c *call) register(child *classScan, end int64) {
	s := &c.class
	s.child, s.hasChild, s.isNews = child.hash, true, true
	s.capacity, s.childEnd = min(child.total(), limits.MaxTokens), end
	if !c.isNew {
		state := classState(c.state)
		if at, found := state.find(&s.child); found {
			if had, end := childCapacity(state.child(at)), childEnd(state.child(at)); end > c.now {
				s.isNews, s.changes = had < s.capacity, had != s.capacity || end < s.childEnd
				s.childEnd = max(s.childEnd, end) // the clock may have gone back
				s.alive, s.children = s.alive-1, s.children-had
			}
		}
	}
	if s.isFull = s.alive >= MaxChildren; s.isFull {
		return
	}
	s.children += s.capacity
	s.changes = s.changes || s.isNews
	s.nextEnd = min(s.nextEnd, s.childEnd)
}

// total is the capacity assured to the node and below it.
func (s *classScan) total() int64 { return s.own + s.children }
