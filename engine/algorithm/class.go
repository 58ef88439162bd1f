package algorithm

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// ClassState is the state of a node of a tree of classes: a class, an ancestor, or both.
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
//	88      8     the last end, of its own registration and of any child's so far
//	96      16    the first half of the SHA-256 of the key
//	112     32·n  the children, in order of their hashes: that half of the SHA-256 of the key; capacity; end
//
// The capacity of a child is the sum of the capacities assured to it and below it.
type ClassState []byte

const (
	classHead  = 112
	childBytes = 32
	// MaxChildren bounds the registered children of a node. Further ones are not registered: they only borrow.
	MaxChildren = 1024
	// registeredFor is the least time that a class stays registered after a request. It ends with a whole step of
	// registrationStep, so that a request seldom changes the state for the registration alone.
	registeredFor    = int64(10 * time.Minute)
	registrationStep = int64(10 * time.Second)
)

// RegistrationEnd is the end of the registration of a class that asks now.
func RegistrationEnd(now int64) int64 {
	return now - now%registrationStep + registrationStep + registeredFor
}

func (s ClassState) u64(at int) int64       { return int64(binary.LittleEndian.Uint64(s[at:])) }
func (s ClassState) setU64(at int, v int64) { binary.LittleEndian.PutUint64(s[at:], uint64(v)) }

// Children is the number of the classes that are registered under the node.
func (s ClassState) Children() int     { return int(binary.LittleEndian.Uint32(s[4:])) }
func (s ClassState) setChildren(n int) { binary.LittleEndian.PutUint32(s[4:], uint32(n)) }

func (s ClassState) hash() classHash { return classHash(s[96:classHead]) }

// assured is the assured rate as the class was last asked with.
func (s ClassState) assured() limits.Limit {
	return limits.Limit{Algorithm: limits.TokenBucket, Capacity: s.u64(40), Rate: limits.Rate{Tokens: s.u64(48), Period: s.u64(56)}}
}

func (s ClassState) child(i int) []byte {
	at := classHead + i*childBytes
	return s[at : at+childBytes : at+childBytes]
}

func childCapacity(child []byte) int64 { return int64(binary.LittleEndian.Uint64(child[16:])) }
func childEnd(child []byte) int64      { return int64(binary.LittleEndian.Uint64(child[24:])) }

func putChild(child []byte, hash *classHash, capacity, end int64) {
	copy(child, hash[:])
	binary.LittleEndian.PutUint64(child[16:], uint64(capacity))
	binary.LittleEndian.PutUint64(child[24:], uint64(end))
}

// find returns the position of a child, or the one that it would have.
func (s ClassState) find(hash *classHash) (at int, found bool) {
	low, high := 0, s.Children()
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

func validClass(state []byte) bool {
	s := ClassState(state)
	if len(state) < classHead || s.Children() > MaxChildren || len(state) < classHead+s.Children()*childBytes {
		return false
	}
	sum, first := int64(0), int64(math.MaxInt64)
	for i := range s.Children() {
		child := s.child(i)
		if childCapacity(child) < 0 || childCapacity(child) > limits.MaxTokens || i > 0 && bytes.Compare(s.child(i - 1)[:16], child[:16]) >= 0 {
			return false
		}
		sum, first = sum+childCapacity(child), min(first, childEnd(child))
	}
	return sum == s.u64(72) && s.u64(80) <= first
}

// AssuredIsValid reports whether there is no assured rate, or one that can be decided.
func (s ClassState) AssuredIsValid() bool {
	assured := s.assured()
	return assured == limits.Limit{Algorithm: limits.TokenBucket} || assured.Valid()
}

func classExpired(state []byte, _ *limits.Limit, now int64) bool {
	n := ClassState(state)
	return n.u64(88) <= now && layout.LoadMeter(state[8:]).IsFull(now) && layout.LoadMeter(state[24:]).IsFull(now)
}

func plainClass(state []byte, now int64) []byte {
	n := ClassState(slices.Clone(state))
	n.sweep(now)
	n.setU64(80, 0)
	return n[layout.VariableHead : classHead+n.Children()*childBytes]
}

// IsToBeKept reports whether a decision changes the state.
func (c *Call) IsToBeKept() bool {
	return c.Result.Granted > 0 || c.Counted || c.Limit.Algorithm == limits.Class && c.Result.Status == engine.OK && c.Class.Changes
}

// ScanAsked reads the class that asks, under the assured rate that it asks with.
func (c *Call) ScanAsked(end int64) {
	s := c.ScanClass()
	had := s.Assured
	s.isAsked = true
	s.Assured, _ = engine.Assured(c.Op.Who)
	if had.Capacity > 0 {
		s.Used = layout.CarryOver(s.Used, had.Rate, s.Assured.Rate)
	}
	s.Changes = had != s.Assured || s.end < end
	s.IsNews = s.end <= c.Now || had != s.Assured
	s.end, s.Own = max(s.end, end), s.Assured.Capacity
}

// Later is the longer of two waits.
func Later(a, b int64) int64 {
	if a == engine.NeverWait || b == engine.NeverWait {
		return engine.NeverWait
	}
	return max(a, b)
}

// Sooner is the shorter of two waits.
func Sooner(a, b int64) int64 {
	switch {
	case a == engine.NeverWait:
		return b
	case b == engine.NeverWait:
		return a
	}
	return min(a, b)
}
