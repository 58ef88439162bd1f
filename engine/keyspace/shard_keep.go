package keyspace

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/internal/tagindex"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// Keep writes what c decided to the record at p, making one if need be. It reports false when there is no room.
func (s *Shard) Keep(c *algorithm.Call, tag uint32, p Place) bool {
	if c.Limit.Warn == 0 {
		return s.keep(c, tag, p)
	}
	next, again := c.Next[:algorithm.Table[c.Limit.Algorithm].Bytes], c.Rearms()
	warns := len(next) > 0 && c.Warns(next, again)
	if !s.keep(c, tag, p) {
		return false
	}
	if len(next) == 0 {
		_, next = s.StateAt(s.Find(tag, c.Op.Key)) // it was written in place
		warns = c.Warns(next, again)
	}
	if warns && s.changes.warned != nil {
		w := c.Warning(next)
		s.changes.warned(&w)
	}
	return true
}

func (s *Shard) keep(c *algorithm.Call, tag uint32, p Place) bool {
	if c.Wrapped || c.Limit.History > 0 {
		return s.keepWrapped(c, tag, p)
	}
	alg := &algorithm.Table[c.Limit.Algorithm]
	size := alg.Bytes
	if size == 0 {
		size = alg.Need(c)
	}
	if !p.Found {
		return s.insert(c, tag, size)
	}
	r := s.record(p.ref)
	if alg.Bytes == 0 && s.snapshot != nil {
		c.Result.Work += s.size(r) / WorkBytes
	}
	s.preserve(r)
	held, before := s.stateOf(r)
	had := len(before)
	if c.IsNew && (held.Algorithm != c.Limit.Algorithm || size != had) {
		s.drop(p) // it has expired: nothing is lost, and making room for more could drop it on the way
		return s.insert(c, tag, size)
	}
	isOther := *held != c.Limit
	growthChanges := alg.Bytes == 0 && (isOther || size > had)
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
		r.setLimitID(s.limits.Acquire(&c.Limit, &s.pin))
		s.limits.Release(old)
	}
	state := alg.StateOf(r.rest())
	switch {
	case alg.Bytes != 0:
		copy(state, c.Next[:])
	case c.IsNew: // so that no part of an expired state counts again
		clear(state[layout.VariableHead:])
		fallthrough
	default:
		alg.Write(c, state)
	}
	if growthChanges {
		s.countGrowing(s.growable(r) - couldGrow)
	}
	s.note(p.ref)
	return true
}

// growable is the memory by which the state of a record can still grow: its smaller predecessor stays until its segment
// is compacted.
func (t *table) growable(r record) int64 {
	limit := t.limitOf(r)
	alg := &algorithm.Table[limit.Algorithm]
	if alg.Bytes != 0 {
		return 0
	}
	full, has := alg.Full(limit), int64(len(alg.StateOf(r.rest())))
	if has >= full {
		return 0
	}
	return 2*full - has
}

func (t *table) countGrowing(more int64) {
	if more != 0 {
		t.mem.growing.Add(more)
	}
}

// Reserve makes room for more entries whose records take some bytes in all.
func (t *table) Reserve(now int64, entries, bytes int) bool {
	return !t.index.Lacks(entries) && t.arena.Room() >= bytes || t.makeRoom(now, entries, bytes)
}

// newRecord makes an entry whose state has size bytes, still zero, and returns 0 when there is no room.
func (t *table) newRecord(now int64, tag uint32, key []byte, limit *limits.Limit, size int) (ref uint32) {
	need := RecordBytes(size, len(key))
	if !t.Reserve(now, 1, need) {
		return 0
	}
	t.Moves++
	ref = t.arena.Append(need)
	for !t.index.Insert(tag, ref) {
		t.index.Resize(t.index.Room()*5/4+tagindex.Tail, pages{t.mem}) // so rare and so little that the memory bound is not asked
	}
	r := t.record(ref)
	r.setLimitID(t.limits.Acquire(limit, &t.pin))
	r.setKeyLen(len(key), t.phase)
	copy(r.key(), key)
	if algorithm.Table[limit.Algorithm].Bytes == 0 {
		layout.SetVariableSize(r.rest(), size)
	}
	if t.quotas != nil {
		t.quotas.Add(key, 1)
	}
	t.mem.databases.Add(key, 1)
	t.kept.add(t.mem, key, limit.Algorithm)
	return ref
}

func (s *Shard) insert(c *algorithm.Call, tag uint32, size int) bool {
	ref := s.newRecord(c.Now, tag, c.Op.Key, &c.Limit, size)
	if ref == 0 {
		return false
	}
	r := s.record(ref)
	switch alg := &algorithm.Table[c.Limit.Algorithm]; {
	case c.Loading != nil:
		copy(r.rest(), c.Loading)
		s.countGrowing(s.growable(r))
		return true
	case alg.Bytes != 0:
		copy(r.rest()[:size], c.Next[:])
	default:
		alg.Write(c, r.rest()[:size:size])
		s.countGrowing(s.growable(r))
	}
	s.note(ref)
	return true
}

// enlarge moves the record of c's key to one with a state of size bytes, the old state in front. It returns its new
// reference, 0 without room.
func (s *Shard) enlarge(c *algorithm.Call, tag uint32, size int) (ref uint32) {
	need := RecordBytes(size, len(c.Op.Key))
	if !s.Reserve(c.Now, 0, need) {
		return 0
	}
	p := s.Find(tag, c.Op.Key) // making room may have moved it
	old, oldSize := s.record(p.ref), s.size(s.record(p.ref))
	ref = s.arena.Append(need)
	moved := s.record(ref)
	copy(moved, old[:oldSize])
	c.Result.Work += oldSize / WorkBytes
	old.setDirty(false)
	moved.setDirty(false) // to be noted again, under its new reference
	layout.SetVariableSize(moved.rest(), size)
	s.Moves++
	s.index.Slots[p.At] = uint64(tag)<<32 | uint64(ref)
	s.vacate(p.ref, oldSize)
	return ref
}

// Load fills c from the record at p.
func (s *Shard) Load(c *algorithm.Call, now int64, op *engine.Op, res *engine.Result, p Place) {
	c.Begin(now, op, res)
	if p.Found {
		c.Open(s.StateAt(p))
	}
	if c.IsNew && op.PriorAt != 0 && op.Verb != engine.Carry {
		c.StartFrom(op.Limit.LeaderAllowance(), c.PriorAt())
	}
}

// keepWrapped writes what c decided on a limiter with loans or closed windows. It reports false when there is no room.
func (s *Shard) keepWrapped(c *algorithm.Call, tag uint32, p Place) bool {
	limit, state := c.WrappedState(c.Next[:algorithm.Table[c.Limit.Algorithm].Bytes])
	if p.Found {
		r := s.record(p.ref)
		held, before := s.stateOf(r)
		had := len(before)
		if !c.IsNew && held.Algorithm == limit.Algorithm && len(state) <= had {
			s.preserve(r)
			if *held != limit {
				old := r.limitID()
				r.setLimitID(s.limits.Acquire(&limit, &s.pin))
				s.limits.Release(old)
			}
			clear(r.rest()[copy(r.rest(), state):had])
			layout.SetVariableSize(r.rest(), had)
			s.note(p.ref)
			return true
		}
	}
	if !s.Reserve(c.Now, 1, RecordBytes(len(state), len(c.Op.Key))) {
		return false
	}
	if p = s.Find(tag, c.Op.Key); p.Found { // making room may have moved it
		s.drop(p)
	}
	ref := s.newRecord(c.Now, tag, c.Op.Key, &limit, len(state))
	copy(s.record(ref).rest(), state)
	s.note(ref)
	return true
}

// Growth is the most that keeping a call's decision may add to the shard.
func (t *table) Growth(c *algorithm.Call) (entries, bytes int) {
	size := c.Size()
	if c.Limit.History > 0 {
		size = c.WrappedBytes()
	}
	switch {
	case c.IsNew || c.DropsHistory():
		return 1, RecordBytes(size, len(c.Op.Key))
	case size > len(c.State) && (c.Limit.History == 0 || c.Prev.History != c.Limit.History || c.Prev.Rollover != c.Limit.Rollover): // else its windows need no more room, and its loans stay
		return 0, RecordBytes(size, len(c.Op.Key))
	}
	return 0, 0
}
