package engine

import (
	"bytes"
	"sync"
)

// shard is one lock's worth of the store: an index over records in an arena. Records are appended; the space that a deleted one
// leaves behind is counted and won back when its segment is compacted.
type shard struct {
	mu        sync.Mutex
	arena     arena
	index     index
	moves     uint32 // counts what may have moved records, or their slots
	limits    *limitTable
	pin       pinned // the limit of the key made last
	mem       *memory
	admission *admission
	quotas    *quotas // nil if there are none

	snapshot *Snapshot // that has not visited this shard yet
	phase    uint32    // the phaseBit of every record except those that snapshot has not visited yet

	number  uint32 // of the shard
	changes *changes
	dirty   []uint32 // references of records written since the last Changes
	gone    []byte   // keys deleted since then: 4 bytes of length, the key

	lent  map[string]struct{} // the keys of limiters with loans
	tanks map[string]struct{} // the keys whose limit has its home elsewhere

	sampleFrom uint64 // tag from which makeRoom looks for expired entries
	fullUntil  int64  // makeRoom does not look at all entries for new keys again before this time
	stuckUntil int64  // nor for a state that grows
	_          [64]byte
}

// fullRetry is the time for which a shard whose memory is short does not look at all its entries again.
const fullRetry = 100_000_000

// place is where a key's record is: its slot in the index, and whether it was found there.
type place struct {
	at    uint64
	ref   uint32
	found bool
}

func (s *shard) record(ref uint32) record { return s.arena.record(ref) }

func (s *shard) limitOf(r record) *Limit { return &s.limits.at(r.limitID()).limit }

func (s *shard) size(r record) int {
	return recordBytes(len(algorithms[s.limitOf(r).Algorithm].stateOf(r.rest())), r.keyLen())
}

func (s *shard) expired(r record, now int64) bool {
	limit := s.limitOf(r)
	alg := &algorithms[limit.Algorithm]
	return alg.expired(alg.stateOf(r.rest()), limit, now)
}

// seek returns the position from which findFrom looks for a key. It reads the head of the record there, so that the processor fetches it.
func (s *shard) seek(tag uint32) (at, head uint64) {
	if s.index.count == 0 {
		return 0, 0
	}
	at = s.index.seek(tag)
	ref := uint32(s.index.slots[at])
	if ref == 0 {
		return at, 0
	}
	return at, uint64(s.record(ref)[4])
}

func (s *shard) find(tag uint32, key []byte) place {
	if s.index.count == 0 {
		return place{}
	}
	return s.findFrom(s.index.seek(tag), tag, key)
}

func (s *shard) findFrom(at uint64, tag uint32, key []byte) place {
	if s.index.count == 0 {
		return place{}
	}
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
	c.begin(now, op, res)
	if p.found {
		r := s.record(p.ref)
		limit := s.limitOf(r)
		c.open(limit, algorithms[limit.Algorithm].stateOf(r.rest()))
	}
	if c.isNew && op.PriorAt != 0 && op.Verb != Carry {
		c.startFrom(op.Limit.LeaderShare(), c.priorAt())
	}
}

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
func (s *shard) newRecord(now int64, tag uint32, key []byte, limit *Limit, size int) (ref uint32) {
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
