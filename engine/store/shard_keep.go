package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// keep writes what c decided to the record at p, making one if need be. It reports false when there is no room.
func (s *shard) keep(c *call, tag uint32, p place) bool {
	if c.hasLoans {
		return s.keepLent(c, tag, p)
	}
	alg := &algorithms[c.limit.Algorithm]
	size := alg.bytes
	if size == 0 {
		size = alg.need(c)
	}
	if !p.found {
		return s.insert(c, tag, size)
	}
	r := s.record(p.ref)
	if alg.bytes == 0 && s.snapshot != nil {
		c.result.Work += s.size(r) / workBytes
	}
	s.preserve(r)
	held := s.limitOf(r)
	had := len(algorithms[held.Algorithm].stateOf(r.rest()))
	if c.isNew && (held.Algorithm != c.limit.Algorithm || size != had) {
		s.drop(p) // it has expired: nothing is lost, and making room for more could drop it on the way
		return s.insert(c, tag, size)
	}
	isOther := *held != c.limit
	growthChanges := alg.bytes == 0 && (isOther || size > had)
	var couldGrow int64
	if growthChanges {
		couldGrow = s.growable(r)
	}
	if size > had {
		if p.ref = s.enlarge(c, tag, size); p.ref == 0 {
			return false
		}
		r = s.record(p.ref)
	}
	if isOther {
		old := r.limitID()
		r.setLimitID(s.limits.acquire(&c.limit, &s.pin))
		s.limits.release(old)
	}
	state := alg.stateOf(r.rest())
	switch {
	case alg.bytes != 0:
		copy(state, c.next[:])
	case c.isNew: // so that no part of an expired state counts again
		clear(state[variableHead:])
		fallthrough
	default:
		alg.write(c, state)
	}
	if growthChanges {
		s.countGrowing(s.growable(r) - couldGrow)
	}
	s.note(p.ref)
	return true
}

// growable is the memory by which the state of a record can still grow: its smaller predecessor stays until its
// segment is compacted.
func (s *shard) growable(r record) int64 {
	limit := s.limitOf(r)
	alg := &algorithms[limit.Algorithm]
	if alg.bytes != 0 {
		return 0
	}
	full, has := alg.full(limit), int64(len(alg.stateOf(r.rest())))
	if has >= full {
		return 0
	}
	return 2*full - has
}

func (s *shard) countGrowing(more int64) {
	if more != 0 {
		s.mem.growing.Add(more)
	}
}

// reserve makes room for more entries whose records take some bytes in all.
func (s *shard) reserve(now int64, entries, bytes int) bool {
	return !s.index.lacks(entries) && s.arena.room() >= bytes || s.makeRoom(now, entries, bytes)
}

// newRecord makes an entry whose state has size bytes, still zero, and returns 0 when there is no room.
func (s *shard) newRecord(now int64, tag uint32, key []byte, limit *limits.Limit, size int) (ref uint32) {
	need := recordBytes(size, len(key))
	if !s.reserve(now, 1, need) {
		return 0
	}
	s.moves++
	ref = s.arena.append(need)
	for !s.index.insert(tag, ref) {
		s.index.resize(s.index.room()*5/4 + indexTail) // so rare and so little that the memory bound is not asked
	}
	r := s.record(ref)
	r.setLimitID(s.limits.acquire(limit, &s.pin))
	r.setKeyLen(len(key), s.phase)
	copy(r.key(), key)
	if algorithms[limit.Algorithm].bytes == 0 {
		setVariableSize(r.rest(), size)
	}
	if s.quotas != nil {
		s.quotas.add(key, 1)
	}
	s.addKept(key, limit.Algorithm)
	return ref
}

func (s *shard) insert(c *call, tag uint32, size int) bool {
	ref := s.newRecord(c.now, tag, c.op.Key, &c.limit, size)
	if ref == 0 {
		return false
	}
	r := s.record(ref)
	switch alg := &algorithms[c.limit.Algorithm]; {
	case c.loading != nil:
		copy(r.rest(), c.loading)
		s.countGrowing(s.growable(r))
		return true
	case alg.bytes != 0:
		copy(r.rest()[:size], c.next[:])
	default:
		alg.write(c, r.rest()[:size:size])
		s.countGrowing(s.growable(r))
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
	ref = s.arena.append(need)
	moved := s.record(ref)
	copy(moved, old[:oldSize])
	c.result.Work += oldSize / workBytes
	old.setDirty(false)
	moved.setDirty(false) // to be noted again, under its new reference
	setVariableSize(moved.rest(), size)
	s.moves++
	s.index.slots[p.at] = uint64(tag)<<32 | uint64(ref)
	s.vacate(p.ref, oldSize)
	return ref
}

// load fills c from the record at p.
func (s *shard) load(c *call, now int64, op *engine.Op, res *engine.Result, p place) {
	c.begin(now, op, res)
	if p.found {
		r := s.record(p.ref)
		limit := s.limitOf(r)
		c.open(limit, algorithms[limit.Algorithm].stateOf(r.rest()))
	}
	if c.isNew && op.PriorAt != 0 && op.Verb != engine.Carry {
		c.startFrom(op.Limit.LeaderShare(), c.priorAt())
	}
}

// keepLent writes what c decided on a limiter with loans. It reports false when there is no room.
func (s *shard) keepLent(c *call, tag uint32, p place) bool {
	limit, state := c.lentState(c.next[:algorithms[c.limit.Algorithm].bytes])
	if p.found {
		r := s.record(p.ref)
		held := s.limitOf(r)
		had := len(algorithms[held.Algorithm].stateOf(r.rest()))
		if !c.isNew && held.Algorithm.IsLent() && len(state) <= had {
			s.preserve(r)
			if *held != limit {
				old := r.limitID()
				r.setLimitID(s.limits.acquire(&limit, &s.pin))
				s.limits.release(old)
			}
			clear(r.rest()[copy(r.rest(), state):had])
			setVariableSize(r.rest(), had)
			s.note(p.ref)
			return true
		}
	}
	if !s.reserve(c.now, 1, recordBytes(len(state), len(c.op.Key))) {
		return false
	}
	if p = s.find(tag, c.op.Key); p.found { // making room may have moved it
		s.drop(p)
	}
	ref := s.newRecord(c.now, tag, c.op.Key, &limit, len(state))
	copy(s.record(ref).rest(), state)
	s.note(ref)
	return true
}
