package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/stintdb/stint/engine/internal/uint128"
)

// classState is the state of a node of a tree of classes: a class, an ancestor, or both.
//
//	offset  size  field
//	0       4     size of the state
//	4       4     number of children
//	8       16    meter of its ceiling, under the limit of the record
//	24      16    meter of its assured rate
//	40      24    its assured rate: capacity, tokens, period; capacity 0 if it never had one
//	64      8     end of the registration as a class, nanoseconds since the Unix epoch
//	72      8     sum of the capacities of its children
//	80      8     the first end among its children
//	88      8     the last end, its own and those that children ever had
//	96      32·n  the children, in order of their hashes: 16 bytes of the SHA-256 of the key; capacity; end
//
// The capacity of a child is the sum of the capacities assured to it and below it.
type classState []byte

const (
	classHead  = 96
	childBytes = 32
	// MaxChildren bounds the registered children of a node. Further ones are not registered: they only borrow.
	MaxChildren = 1024
	// registeredFor is the least time that a class stays registered after a request. It ends with a whole step of
	// registrationStep, so that a request seldom changes the state for the registration alone.
	registeredFor    = int64(10 * time.Minute)
	registrationStep = int64(10 * time.Second)
)

// registrationEnd is the end of the registration of a class that asks now.
func registrationEnd(now int64) int64 {
	return now - now%registrationStep + registrationStep + registeredFor
}

func (s classState) u64(at int) int64       { return int64(binary.LittleEndian.Uint64(s[at:])) }
func (s classState) setU64(at int, v int64) { binary.LittleEndian.PutUint64(s[at:], uint64(v)) }
func (s classState) children() int          { return int(binary.LittleEndian.Uint32(s[4:])) }
func (s classState) setChildren(n int)      { binary.LittleEndian.PutUint32(s[4:], uint32(n)) }

// assured is the assured rate as the class was last asked with.
func (s classState) assured() Limit {
	return Limit{Algorithm: TokenBucket, Capacity: s.u64(40), Rate: Rate{s.u64(48), s.u64(56)}}
}

func (s classState) child(i int) []byte {
	at := classHead + i*childBytes
	return s[at : at+childBytes : at+childBytes]
}

func childCapacity(child []byte) int64 { return int64(binary.LittleEndian.Uint64(child[16:])) }
func childEnd(child []byte) int64      { return int64(binary.LittleEndian.Uint64(child[24:])) }

func putChild(child []byte, hash *[16]byte, capacity, end int64) {
	copy(child, hash[:])
	binary.LittleEndian.PutUint64(child[16:], uint64(capacity))
	binary.LittleEndian.PutUint64(child[24:], uint64(end))
}

// find returns the position of a child, or the one that it would have.
func (s classState) find(hash *[16]byte) (at int, found bool) {
	low, high := 0, s.children()
	for low < high {
		middle := (low + high) / 2
		switch order := bytes.Compare(s.child(middle)[:16], hash[:]); {
		case order == 0:
			return middle, true
		case order < 0:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// classScan is a node as a request finds it, and as it leaves it once the request is decided.
type classScan struct {
	taken    uint128.Int // ticks of its ceiling
	free     int64       // whole tokens left of it
	own      int64       // the capacity assured to itself, if it is registered
	children int64       // the sum of those of its registered children, the one that asks included

	isAsked bool  // it is the class that asks, not an ancestor
	assured Limit // its assured rate; Capacity 0 for none
	used    uint128.Int
	end     int64 // of its registration as a class

	hash     [16]byte // of the child that asks, if any
	hasChild bool
	capacity int64 // of that child
	childEnd int64
	at       int
	found    bool // it is among the children, perhaps with a registration that is over
	isNews   bool // it was not registered, or with a smaller capacity
	isFull   bool // there is no room for it
	isSwept  bool // some registrations are over
	alive    int  // registered children, the one that asks left out
	nextEnd  int64

	changes bool // the registration, or the assured rate
}

// scanClass reads a node at the time of the call and changes nothing.
func (c *call) scanClass() *classScan {
	s := &c.class
	*s = classScan{taken: c.takenClass(), nextEnd: math.MaxInt64}
	room := uint128.Product(uint64(c.limit.Capacity), uint64(c.limit.Rate.Period))
	free, _ := room.Minus(s.taken).Divide(uint64(c.limit.Rate.Period))
	s.free = int64(free)
	if c.isNew {
		return s
	}
	state := classState(c.state)
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
	return carryOver(loadMeter(c.state[8:]).taken(c.now, c.prev.Rate), c.prev.Rate, c.limit.Rate)
}

// register registers the child that asks, in the scan.
func (c *call) register(key []byte, capacity int64) {
	s := &c.class
	sum := sha256.Sum256(key)
	s.hash, s.hasChild, s.isNews = [16]byte(sum[:16]), true, true
	s.capacity, s.childEnd = min(capacity, MaxTokens), registrationEnd(c.now)
	if !c.isNew {
		state := classState(c.state)
		if s.at, s.found = state.find(&s.hash); s.found {
			if had, end := childCapacity(state.child(s.at)), childEnd(state.child(s.at)); end > c.now {
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

func fullClass(*Limit) int64 { return classHead }

// writeClass keeps a decision, or the registration alone.
func writeClass(c *call, state []byte) {
	s, n := &c.class, classState(state)
	if c.isNew {
		clear(n[variableHead:])
	}
	after := s.taken.Plus(uint128.Product(uint64(c.result.Granted), uint64(c.limit.Rate.Period)))
	meterAfter(c.now, after, c.limit.Rate).store(n[8:])
	if s.isAsked && s.assured.Capacity > 0 {
		meterAfter(c.now, s.used, s.assured.Rate).store(n[24:])
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
	at, found := s.find(&scan.hash)
	if !found {
		count := s.children()
		list := s[classHead : classHead+(count+1)*childBytes]
		copy(list[(at+1)*childBytes:], list[at*childBytes:count*childBytes])
		s.setChildren(count + 1)
	}
	putChild(s.child(at), &scan.hash, scan.capacity, scan.childEnd)
	s.setU64(88, max(s.u64(88), scan.childEnd))
}

func validClass(state []byte) bool {
	s := classState(state)
	if len(state) < classHead || s.children() > MaxChildren || len(state) < classHead+s.children()*childBytes {
		return false
	}
	sum, first := int64(0), int64(math.MaxInt64)
	for i := range s.children() {
		child := s.child(i)
		if childCapacity(child) < 0 || childCapacity(child) > MaxTokens || i > 0 && bytes.Compare(s.child(i - 1)[:16], child[:16]) >= 0 {
			return false
		}
		sum, first = sum+childCapacity(child), min(first, childEnd(child))
	}
	return sum == s.u64(72) && s.u64(80) <= first
}

// assuredIsValid reports whether there is no assured rate, or one that can be decided.
func (s classState) assuredIsValid() bool {
	assured := s.assured()
	return assured == Limit{Algorithm: TokenBucket} || assured.Valid()
}

func classExpired(state []byte, _ *Limit, now int64) bool {
	n := classState(state)
	return n.u64(88) <= now && loadMeter(state[8:]).isFull(now) && loadMeter(state[24:]).isFull(now)
}

func plainClass(state []byte, now int64) []byte {
	n := classState(slices.Clone(state))
	n.sweep(now)
	n.setU64(80, 0)
	return n[variableHead : classHead+n.children()*childBytes]
}
