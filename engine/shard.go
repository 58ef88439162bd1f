package engine

import (
	"bytes"
	"sync"
)

// shard is one lock's worth of the store: an index over records in an arena. Records are appended; what a deleted one
// leaves behind is counted and won back when the shard is rebuilt.
type shard struct {
	mu     sync.Mutex
	index  index
	arena  []byte
	used   int // bytes of the arena in use, dead ones included
	dead   int // bytes of deleted records
	limits interned
	mem    *memory
	ask    call // scratch of the operation in progress

	fullUntil int64 // a rebuild that won no room is not tried again before this time
	_         [64]byte
}

// call is one limit asked at one instant: what an algorithm reads and fills in. An algorithm works on a copy of the
// state, so it needs to know nothing of PEEK or of other limits in the same request: the store decides what is kept.
type call struct {
	now    int64
	op     *Op
	limit  Limit          // what the operation asks to be held to
	held   Limit          // what the state was last written under; limit itself when there is no state
	state  [maxState]byte // zero when the key is as good as new
	result *Result
}

const maxState = meterBytes

// fullRetry is how long a shard without room turns new keys away before it looks for entries to drop again.
const fullRetry = 100_000_000

// place is where a key's record is: its slot in the index, and whether it was found there.
type place struct {
	at    uint64
	ref   uint32
	found bool
}

func (s *shard) record(ref uint32) record { return record(s.arena[(int(ref)-1)*recordAlign:]) }

func (s *shard) limitOf(r record) *Limit { return &s.limits.limits[r.limitID()] }

func (s *shard) stateOf(r record) (state []byte, alg *algorithm) {
	alg = &algorithms[s.limitOf(r).Algorithm]
	return r.state(alg.bytes), alg
}

func (s *shard) key(r record) []byte { return r.keyAt(algorithms[s.limitOf(r).Algorithm].bytes) }

func (s *shard) expired(r record, now int64) bool {
	state, alg := s.stateOf(r)
	return alg.expired(state, now)
}

func (s *shard) find(tag uint32, key []byte) place {
	if s.index.count == 0 {
		return place{}
	}
	at := s.index.seek(tag)
	for ; s.index.slots[at] != 0 && slotTag(s.index.slots[at]) == tag; at++ {
		ref := uint32(s.index.slots[at])
		if bytes.Equal(s.key(s.record(ref)), key) {
			return place{at, ref, true}
		}
	}
	return place{}
}

// load fills the shard's call from a record; without one, or with one as good as new, the state is zero.
func (s *shard) load(now int64, op *Op, res *Result, p place) (live bool) {
	c := &s.ask
	c.now, c.op, c.result, c.limit = now, op, res, op.Limit
	if p.found {
		r := s.record(p.ref)
		state, alg := s.stateOf(r)
		if live = !alg.expired(state, now); live {
			c.held = *s.limitOf(r)
			copy(c.state[:], state)
			return true
		}
	}
	c.held = op.Limit
	c.state = [maxState]byte{}
	return false
}

// keep writes the call's state to the record at p, making one if need be. It reports false when there is no room.
func (s *shard) keep(tag uint32, p place, limit Limit) bool {
	size := algorithms[limit.Algorithm].bytes
	if p.found {
		r := s.record(p.ref)
		held := s.limitOf(r)
		if *held == limit {
			copy(r.state(size), s.ask.state[:size])
			return true
		}
		if algorithms[held.Algorithm].bytes == size {
			s.limits.release(r.limitID())
			r.setLimitID(s.limits.acquire(limit))
			copy(r.state(size), s.ask.state[:size])
			return true
		}
		s.drop(p)
	}
	return s.insert(tag, limit, size)
}

func (s *shard) insert(tag uint32, limit Limit, size int) bool {
	key := s.ask.op.Key
	need := recordBytes(size, len(key))
	if (s.index.isFull() || s.used+need > len(s.arena)) && !s.rebuild(s.ask.now, 1, need) {
		return false
	}
	ref := uint32(s.used/recordAlign) + 1
	for !s.index.insert(tag, ref) {
		if !s.rebuild(s.ask.now, s.index.count/4+1, need) {
			return false
		}
		ref = uint32(s.used/recordAlign) + 1
	}
	r := s.record(ref)
	r.setLimitID(s.limits.acquire(limit))
	r.setKeyLen(len(key))
	copy(r.state(size), s.ask.state[:size])
	copy(r.keyAt(size), key)
	s.used += need
	return true
}

// drop removes the entry at p.
func (s *shard) drop(p place) {
	r := s.record(p.ref)
	s.dead += recordBytes(algorithms[s.limitOf(r).Algorithm].bytes, r.keyLen())
	s.limits.release(r.limitID())
	s.index.remove(p.at)
}

func (s *shard) free() {
	s.index.free()
	s.mem.free(s.arena)
	s.limits.clear()
	s.arena, s.used, s.dead, s.index = nil, 0, 0, index{mem: s.mem}
}
