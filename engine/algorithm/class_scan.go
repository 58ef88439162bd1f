package algorithm

import (
	"crypto/sha256"
	"math"

	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

func hashOfClass(key []byte) classHash {
	sum := sha256.Sum256(key)
	return classHash(sum[:16])
}

// ScanClass reads a node at the time of the call and changes nothing.
func (c *Call) ScanClass() *classScan {
	s := &c.Class
	*s = classScan{taken: takenClass(c), nextEnd: math.MaxInt64}
	s.Free = max(0, c.Limit.Capacity-s.taken.DivideUp(uint64(c.Limit.Rate.Period)))
	if c.IsNew {
		s.hash = hashOfClass(c.Op.Key)
		return s
	}
	state := ClassState(c.State)
	s.hash = state.hash()
	if s.Assured = state.assured(); s.Assured.Capacity > 0 {
		s.Used = layout.LoadMeter(state[24:]).Taken(c.Now, s.Assured.Rate)
		if s.end = state.u64(64); s.end > c.Now {
			s.Own = s.Assured.Capacity
		}
	}
	s.alive, s.nextEnd = state.Children(), state.u64(80)
	if s.Children = state.u64(72); s.alive > 0 && s.nextEnd <= c.Now {
		s.isSwept, s.alive, s.Children, s.nextEnd = true, 0, 0, math.MaxInt64
		for i := range state.Children() {
			if child := state.child(i); childEnd(child) > c.Now {
				s.alive, s.Children, s.nextEnd = s.alive+1, s.Children+childCapacity(child), min(s.nextEnd, childEnd(child))
			}
		}
		c.Result.Work += state.Children()
	}
	return s
}

// takenClass is takenUnder of a node.
func takenClass(c *Call) uint128.Int {
	if c.IsNew {
		return uint128.Int{}
	}
	taken := layout.LoadMeter(c.State[8:]).Taken(c.Now, c.Prev.Rate)
	if c.Prev.Rate != c.Limit.Rate {
		taken = layout.CarryOver(taken, c.Prev.Rate, c.Limit.Rate)
	}
	return taken
}

// Register registers the child that asks, in the scan.
func (c *Call) Register(child *classScan, end int64) {
	s := &c.Class
	s.child, s.hasChild, s.IsNews = child.hash, true, true
	s.capacity, s.childEnd = min(child.Total(), limits.MaxTokens), end
	if !c.IsNew {
		state := ClassState(c.State)
		if at, found := state.find(&s.child); found {
			if had, end := childCapacity(state.child(at)), childEnd(state.child(at)); end > c.Now {
				s.IsNews, s.Changes = had < s.capacity, had != s.capacity || end < s.childEnd
				s.childEnd = max(s.childEnd, end) // the clock may have gone back
				s.alive, s.Children = s.alive-1, s.Children-had
			}
		}
	}
	if s.IsFull = s.alive >= MaxChildren; s.IsFull {
		return
	}
	s.Children += s.capacity
	s.Changes = s.Changes || s.IsNews
	s.nextEnd = min(s.nextEnd, s.childEnd)
}

// Total is the capacity assured to the node and below it.
func (s *classScan) Total() int64 { return s.Own + s.Children }
