package engine

import (
	"bytes"
	"sync"
)

// shard is one lock's worth of the store: an index over records in an arena. Records are appended; what a deleted one
// leaves behind is counted and won back when the shard is rebuilt.
type shard struct {
	mu     sync.Mutex
	arena  []byte
	index  index
	used   int    // bytes of the arena in use, dead ones included
	dead   int    // bytes of deleted records
	moves  uint32 // counts what may have moved records, or their slots
	limits *interned
	pin    pinned // the limit of the key made last
	mem    *memory
	room   *restrictions
	quotas *quotas // nil if there are none

	frozen *Frozen // that has not visited this shard yet
	phase  uint32  // what phaseBit is in every record but those that frozen still has to show

	number  uint32 // of the shard
	changes *changes
	dirty   []uint32 // references of records written since the journal was last told
	gone    []byte   // keys deleted since then: 4 bytes of length, the key

	fullUntil int64 // a rebuild that won no room is not tried again before this time
	_         [64]byte
}

// fullRetry is how long a shard without room turns new keys away before it looks for entries to drop again.
const fullRetry = 100_000_000

// place is where a key's record is: its slot in the index, and whether it was found there.
type place struct {
	at    uint64
	ref   uint32
	found bool
}

func (s *shard) record(ref uint32) record { return recordAt(s.arena, ref) }

func recordAt(arena []byte, ref uint32) record { return record(arena[(int(ref)-1)*recordAlign:]) }

func (s *shard) limitOf(r record) *Limit { return &s.limits.at(r.limitID()).limit }

func (s *shard) size(r record) int {
	return recordBytes(len(algorithms[s.limitOf(r).Algorithm].stateOf(r.rest())), r.keyLen())
}

func (s *shard) expired(r record, now int64) bool {
	limit := s.limitOf(r)
	alg := &algorithms[limit.Algorithm]
	return alg.expired(alg.stateOf(r.rest()), limit, now)
}

func (s *shard) find(tag uint32, key []byte) place {
	if s.index.count == 0 {
		return place{}
	}
	at := s.index.seek(tag)
	for ; s.index.slots[at] != 0 && slotTag(s.index.slots[at]) == tag; at++ {
		ref := uint32(s.index.slots[at])
		if bytes.Equal(s.record(ref).key(), key) {
			return place{at, ref, true}
		}
	}
	return place{}
}

// load fills c from the record at p.
func (s *shard) load(c *call, now int64, op *Op, res *Result, p place) {
	c.now, c.op, c.result, c.limit = now, op, res, op.Limit
	if p.found {
		r := s.record(p.ref)
		limit := s.limitOf(r)
		alg := &algorithms[limit.Algorithm]
		if c.state = alg.stateOf(r.rest()); !alg.expired(c.state, limit, now) {
			c.held, c.fresh = *limit, false
			return
		}
	}
	c.held, c.state, c.fresh = op.Limit, noState[:], true
}

// keep writes what c decided to the record at p, making one if need be. It reports false when there is no room.
func (s *shard) keep(c *call, tag uint32, p place) bool {
	alg := &algorithms[c.limit.Algorithm]
	size := alg.bytes
	if size == 0 {
		size = alg.need(c)
	}
	if !p.found {
		return s.insert(c, tag, size)
	}
	r := s.record(p.ref)
	s.preserve(r)
	held := s.limitOf(r)
	had := len(algorithms[held.Algorithm].stateOf(r.rest()))
	if c.fresh && (held.Algorithm != c.limit.Algorithm || size != had) {
		s.drop(p) // it is as good as new: nothing is lost, and making room for more could drop it on the way
		return s.insert(c, tag, size)
	}
	if size > had {
		if p.ref = s.enlarge(c, tag, size); p.ref == 0 {
			return false
		}
		r = s.record(p.ref)
	}
	if *s.limitOf(r) != c.limit {
		old := r.limitID()
		r.setLimitID(s.limits.acquire(&c.limit, &s.pin))
		s.limits.release(old)
	}
	if state := alg.stateOf(r.rest()); alg.bytes != 0 {
		copy(state, c.next[:])
	} else {
		if c.fresh { // so that nothing of it counts again, wherever it was not dropped yet
			clear(state[variableHead:])
		}
		alg.write(c, state)
	}
	s.note(p.ref)
	return true
}

// reserve makes room for more entries whose records take some bytes in all.
func (s *shard) reserve(now int64, entries, bytes int) bool {
	for s.index.lacks(entries) || s.used+bytes > len(s.arena) {
		if !s.rebuild(now, entries, bytes) {
			return false
		}
	}
	return true
}

func (s *shard) insert(c *call, tag uint32, size int) bool {
	key := c.op.Key
	need := recordBytes(size, len(key))
	if !s.reserve(c.now, 1, need) {
		return false
	}
	s.moves++
	ref := uint32(s.used/recordAlign) + 1
	for !s.index.insert(tag, ref) {
		s.spread(c.now)
		ref = uint32(s.used/recordAlign) + 1
	}
	r := s.record(ref)
	r.setLimitID(s.limits.acquire(&c.limit, &s.pin))
	r.setKeyLen(len(key), s.phase)
	copy(r.key(), key)
	s.used += need
	if s.quotas != nil {
		s.quotas.add(key, 1)
	}
	switch alg := &algorithms[c.limit.Algorithm]; {
	case c.loading != nil:
		copy(r.rest(), c.loading)
		return true
	case alg.bytes != 0:
		copy(r.rest()[:size], c.next[:])
	default:
		setVariableSize(r.rest(), size)
		alg.write(c, r.rest()[:size:size])
	}
	s.note(ref)
	return true
}

// enlarge moves the record of c's key to one with a state of size bytes, the old state in front, and returns the record's
// new reference. It returns 0 when there is no room.
func (s *shard) enlarge(c *call, tag uint32, size int) (ref uint32) {
	need := recordBytes(size, len(c.op.Key))
	if !s.reserve(c.now, 0, need) {
		return 0
	}
	p := s.find(tag, c.op.Key) // making room may have moved it
	old, oldSize := s.record(p.ref), s.size(s.record(p.ref))
	moved := record(s.arena[s.used : s.used+need])
	clear(moved)
	copy(moved, old[:oldSize])
	old.setDirty(false)
	moved.setDirty(false) // to be noted anew, under its new reference
	setVariableSize(moved.rest(), size)
	s.moves++
	ref = uint32(s.used/recordAlign) + 1
	s.index.slots[p.at] = uint64(tag)<<32 | uint64(ref)
	s.used += need
	s.dead += oldSize
	return ref
}

// remove drops the entry at p and notes that it is gone.
func (s *shard) remove(p place) {
	r := s.record(p.ref)
	s.noteGone(r.key())
	r.setDirty(false)
	s.drop(p)
}

// drop removes the entry at p, which holds no information any more.
func (s *shard) drop(p place) {
	s.moves++
	r := s.record(p.ref)
	s.preserve(r)
	s.dead += s.size(r)
	s.noteDropped(r)
	s.uncount(r)
	r.setDirty(false)
	s.limits.release(r.limitID())
	s.index.remove(p.at)
}

// uncount takes a record that goes out of the quotas' counts.
func (s *shard) uncount(r record) {
	if s.quotas != nil {
		s.quotas.add(r.key(), -1)
	}
}

func (s *shard) free() {
	for _, slot := range s.index.slots {
		if slot != 0 {
			s.uncount(s.record(uint32(slot)))
			s.limits.release(s.record(uint32(slot)).limitID())
		}
	}
	if s.pin.used {
		s.limits.release(s.pin.id)
		s.pin = pinned{}
	}
	if s.frozen != nil {
		s.frozen.takeOver(s)
	} else {
		s.index.free()
		s.mem.free(s.arena)
	}
	s.arena, s.used, s.dead, s.index = nil, 0, 0, index{mem: s.mem}
	s.dirty = nil
	s.fullUntil = 0
}
