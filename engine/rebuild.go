package engine

const (
	minArena   = 1 << 10
	minEntries = 16
	// compactBytes is the largest arena that is compacted in place, through a buffer all shards share in turn.
	compactBytes = 64 << 10
	// tightShare is the part of a shard that a rebuild must free when memory is short, so that a shard is not rebuilt
	// for one record at a time.
	tightShare = 16
	// lingerNanos is the time for which a rebuild keeps expired entries: a key that comes back finds its record, and costs no
	// more than a key that stayed.
	lingerNanos = 1_000_000_000
)

// rebuild makes room for more entries of moreBytes in all, first by leaving out deleted and expired ones, then by growing. While
// memory suffices, entries linger after they expire. It reports false, having changed nothing, when the memory bound leaves no
// room. Without more entries, it is for a state that grows, and may use the reserve.
func (s *shard) rebuild(now int64, more, moreBytes int) bool {
	newKeys, fullUntil := more > 0, &s.stuckUntil
	if newKeys {
		fullUntil = &s.fullUntil
	}
	if now < *fullUntil && *fullUntil-now <= fullRetry {
		return false
	}
	homes, arena := s.index.room(), len(s.arena)
	if arena > compactBytes && s.dead < arena/tightShare && !s.mem.allows(int64(arena/tightShare), newKeys) {
		return false // no room to gain
	}
	if s.mem.fits(int64(arena/2), true) {
		expiredAt := now - lingerNanos
		if entries, bytes := s.live(expiredAt); s.rebuildRoomy(expiredAt, entries+more, bytes+moreBytes) {
			return true
		}
	}
	entries, bytes := s.live(now)
	entries, bytes = entries+more, bytes+moreBytes
	if s.rebuildRoomy(now, entries, bytes) {
		return true
	}
	roomy, large := max(entries, homes), max(bytes, arena) // no room to spare
	if newKeys {
		roomy, large = max(entries+entries/tightShare, homes), max(bytes+bytes/tightShare, arena)
	}
	if !s.mem.allows(s.extraBytes(roomy, large), newKeys) {
		*fullUntil = now + fullRetry
		return false
	}
	s.moveTo(now, roomy, s.mem.block(large))
	return true
}

// rebuildRoomy is rebuild without the entries that had expired at a time, for entries and bytes in all, and with room for many
// more. It reports false, having changed nothing, when the memory bound leaves no such room.
func (s *shard) rebuildRoomy(expiredAt int64, entries, bytes int) bool {
	homes, arena := s.index.room(), len(s.arena)
	if entries <= homes-homes/8 && bytes <= arena-arena/4 { // a good part is free: no need to grow
		if arena <= compactBytes {
			s.compact(expiredAt)
		} else {
			s.moveTo(expiredAt, homes, s.mem.block(arena))
		}
		return true
	}
	roomy, large := max(entries+entries/3, homes, minEntries), max(bytes+bytes/2, arena, minArena)
	if !s.mem.fits(s.extraBytes(roomy, large), true) {
		return false
	}
	s.moveTo(expiredAt, roomy, s.mem.block(large))
	return true
}

// extraBytes is the memory that an index of a room and an arena take beyond those that the shard has.
func (s *shard) extraBytes(room, arena int) int64 {
	return indexBytes(room) + int64(arena) - s.index.bytes() - int64(len(s.arena))
}

// shrink gives back the memory that the live entries do not use.
func (s *shard) shrink(now int64) {
	entries, bytes := s.live(now)
	s.moveTo(now, max(entries+entries/3, minEntries), s.mem.block(max(bytes+bytes/2, minArena)))
}

// compact moves the live records of a small arena together.
func (s *shard) compact(now int64) {
	buffer := s.mem.buffers.Get().(*[compactBytes]byte)
	defer s.mem.buffers.Put(buffer)
	used := 0
	s.dirty = s.dirty[:0] // noted again, under their new references
	for at := uint64(0); at < uint64(len(s.index.slots)); {
		slot := s.index.slots[at]
		if slot == 0 {
			at++
			continue
		}
		r := s.record(uint32(slot))
		if s.expired(r, now) {
			s.preserve(r)
			s.noteDropped(r)
			s.uncount(r)
			s.limits.release(r.limitID())
			s.index.remove(at) // moves the rest of the run up: the same position holds the next entry
			continue
		}
		size := s.size(r)
		copy(buffer[used:], r[:size])
		s.index.slots[at] = uint64(slotTag(slot))<<32 | uint64(used/recordAlign+1)
		if r.isDirty() {
			s.dirty = append(s.dirty, uint32(used/recordAlign)+1)
		}
		used += size
		at++
	}
	copy(s.arena, buffer[:used])
	clear(s.arena[used:s.used])
	s.used, s.dead = used, 0
	s.moves++
}

// each calls f for every record, in tag order, with the position of its slot, its size, and whether it holds no information
// at now.
func (s *shard) each(now int64, f func(at int, r record, size int, expired bool)) {
	for at, slot := range s.index.slots {
		if slot == 0 {
			continue
		}
		r := s.record(uint32(slot))
		limit := s.limitOf(r)
		alg := &algorithms[limit.Algorithm]
		state := alg.stateOf(r.rest())
		f(at, r, recordBytes(len(state), r.keyLen()), alg.expired(state, limit, now))
	}
}

// live counts the entries that hold information at now, and the bytes of their records.
func (s *shard) live(now int64) (entries, bytes int) {
	s.each(now, func(_ int, _ record, size int, expired bool) {
		if !expired {
			entries++
			bytes += size
		}
	})
	return entries, bytes
}

// moveTo moves the live records to a new arena, and gives the index room for entries.
func (s *shard) moveTo(now int64, entries int, arena []byte) {
	used := 0
	s.dirty = s.dirty[:0] // noted again, under their new references
	s.each(now, func(at int, r record, size int, expired bool) {
		if expired {
			s.preserve(r)
			s.noteDropped(r)
			s.uncount(r)
			s.limits.release(r.limitID())
			s.index.slots[at] = 0 // resize closes the gap
			s.index.count--
			return
		}
		copy(arena[used:used+size], r[:size])
		ref := uint32(used/recordAlign) + 1
		s.index.slots[at] = uint64(slotTag(s.index.slots[at]))<<32 | uint64(ref)
		if r.isDirty() {
			s.dirty = append(s.dirty, ref)
		}
		used += size
	})
	s.mem.free(s.arena)
	s.arena, s.used, s.dead = arena, used, 0
	s.index.resize(entries)
	s.moves++
}
