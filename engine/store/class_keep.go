package store

import "github.com/stintdb/stint/engine/limits"

func needClass(c *call) int {
	s := &c.class
	n := s.alive
	if s.hasChild && !s.isFull {
		n++
	}
	room := 0
	for room < n {
		room = max(1, 2*room)
	}
	return max(len(c.stateOfClass()), classHead+room*childBytes)
}

// stateOfClass is the state as it is kept, none if there is none.
func (c *call) stateOfClass() []byte {
	if c.isNew {
		return nil
	}
	return c.state
}

func fullClass(*limits.Limit) int64 { return classHead }

// writeClass keeps a decision, or the registration alone.
func writeClass(c *call, state []byte) {
	s, n := &c.class, classState(state)
	if c.isNew {
		clear(n[variableHead:])
		copy(n[96:], s.hash[:])
	}
	c.writeMeters(n)
	if s.isAsked && s.assured.Capacity > 0 {
		n.setU64(40, s.assured.Capacity)
		n.setU64(48, s.assured.Rate.Tokens)
		n.setU64(56, s.assured.Rate.Period)
		n.setU64(64, s.end)
		n.setU64(88, max(n.u64(88), s.end))
	}
	if s.isSwept {
		n.sweep(c.now)
	}
	if s.hasChild && !s.isFull {
		n.keepChild(s)
	}
	n.setU64(72, s.children)
	n.setU64(80, s.nextEnd)
}

// writeMeters keeps what a request has taken.
func (c *call) writeMeters(state []byte) {
	s := &c.class
	s.after.store(state[8:])
	if s.isAsked && s.assured.Capacity > 0 {
		meterAfter(c.now, s.used, s.assured.Rate).store(state[24:])
	}
}

// writesInPlace reports whether only the meters of a node change.
func (c *call) writesInPlace() bool {
	return !c.isNew && !c.class.changes && !c.class.isSwept && c.prev == c.limit
}

// sweep drops the children whose registration is over.
func (s classState) sweep(now int64) {
	kept := 0
	for i := range s.children() {
		if child := s.child(i); childEnd(child) > now {
			copy(s.child(kept), child)
			kept++
		}
	}
	clear(s[classHead+kept*childBytes : classHead+s.children()*childBytes])
	s.setChildren(kept)
}

// keepChild writes the child that asks.
func (s classState) keepChild(scan *classScan) {
	at, found := s.find(&scan.child)
	if !found {
		count := s.children()
		list := s[classHead : classHead+(count+1)*childBytes]
		copy(list[(at+1)*childBytes:], list[at*childBytes:count*childBytes])
		s.setChildren(count + 1)
	}
	putChild(s.child(at), &scan.child, scan.capacity, scan.childEnd)
	s.setU64(88, max(s.u64(88), scan.childEnd))
}
