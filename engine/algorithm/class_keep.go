package algorithm

import (
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

func needClass(c *Call) int {
	s := &c.Class
	n := s.alive
	if s.hasChild && !s.IsFull {
		n++
	}
	room := 0
	for room < n {
		room = max(1, 2*room)
	}
	return max(len(stateOfClass(c)), classHead+room*childBytes)
}

// stateOfClass is the state as it is kept, none if there is none.
func stateOfClass(c *Call) []byte {
	if c.IsNew {
		return nil
	}
	return c.State
}

func fullClass(*limits.Limit) int64 { return classHead }

// writeClass keeps a decision, or the registration alone.
func writeClass(c *Call, state []byte) {
	s, n := &c.Class, ClassState(state)
	if c.IsNew {
		clear(n[layout.VariableHead:])
		copy(n[96:], s.hash[:])
	}
	c.WriteMeters(n)
	if s.isAsked && s.Assured.Capacity > 0 {
		n.setU64(40, s.Assured.Capacity)
		n.setU64(48, s.Assured.Rate.Tokens)
		n.setU64(56, s.Assured.Rate.Period)
		n.setU64(64, s.end)
		n.setU64(88, max(n.u64(88), s.end))
	}
	if s.isSwept {
		n.sweep(c.Now)
	}
	if s.hasChild && !s.IsFull {
		n.keepChild(s)
	}
	n.setU64(72, s.Children)
	n.setU64(80, s.nextEnd)
}

// WriteMeters keeps what a request has taken.
func (c *Call) WriteMeters(state []byte) {
	s := &c.Class
	s.after.Store(state[8:])
	if s.isAsked && s.Assured.Capacity > 0 {
		layout.MeterAfter(c.Now, s.Used, s.Assured.Rate).Store(state[24:])
	}
}

// WritesInPlace reports whether only the meters of a node change.
func (c *Call) WritesInPlace() bool {
	return !c.IsNew && !c.Class.Changes && !c.Class.isSwept && c.Prev == c.Limit
}

// sweep drops the children whose registration is over.
func (s ClassState) sweep(now int64) {
	kept := 0
	for i := range s.Children() {
		if child := s.child(i); childEnd(child) > now {
			copy(s.child(kept), child)
			kept++
		}
	}
	clear(s[classHead+kept*childBytes : classHead+s.Children()*childBytes])
	s.setChildren(kept)
}

// keepChild writes the child that asks.
func (s ClassState) keepChild(scan *classScan) {
	at, found := s.find(&scan.child)
	if !found {
		count := s.Children()
		list := s[classHead : classHead+(count+1)*childBytes]
		copy(list[(at+1)*childBytes:], list[at*childBytes:count*childBytes])
		s.setChildren(count + 1)
	}
	putChild(s.child(at), &scan.child, scan.capacity, scan.childEnd)
	s.setU64(88, max(s.u64(88), scan.childEnd))
}
