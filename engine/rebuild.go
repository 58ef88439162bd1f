package engine

const (
	minArena   = 1 << 10
	minEntries = 16
	// compactBytes is the largest arena that is compacted in place, through a buffer all shards share in turn.
	compactBytes = 64 << 10
	// tightShare is the part of a shard that a rebuild must free when memory is short, so that a shard is not rebuilt
	// for one record at a time.
	tightShare = 16
)

// rebuild makes room for more entries of moreBytes in all, first by leaving out deleted and expired
// at now, then by growing. It reports false, having changed nothing, when the memory bound leaves no room. Without more
// entries, it is for a state that grows, and may use the reserve.
func (s *shard) rebuild(now int64, more, moreBytes int) bool {
	newKeys, fullUntil := more > 0, &s.stuckUntil
	if newKeys {
		fullUntil = &s.fullUntil
	}
	if now < *fullUntil && *fullUntil-now <= fullRetry {
		return false
	}
	if len(s.arena) > compactBytes && s.dead < len(s.arena)/tightShare && !s.mem.allows(int64(len(s.arena)/tightShare), newKeys) {
		return false // no room to gain
	}
	entries, bytes := s.live(now)
	entries, bytes = entries+more, bytes+moreBytes
	homes, arena := s.index.room(), len(s.arena)
	if entries <= homes-homes/8 && bytes <= arena-arena/4 { // a good part is free: no need to grow
		if arena <= compactBytes {
			s.compact(now)
		} else {
			s.moveTo(now, s.fill(now, homes), s.mem.block(arena))
		}
		return true
	}
	roomy, large := max(entries+entries/3, homes, minEntries), max(bytes+bytes/2, arena, minArena)
	if held := s.index.bytes() + int64(arena); !s.mem.fits(indexBytes(roomy)+int64(large)-held, true) {
		roomy, large = max(entries, homes), max(bytes, arena) // no room to spare
		if newKeys {
			roomy, large = max(entries+entries/tightShare, homes), max(bytes+bytes/tightShare, arena)
		}
		if !s.mem.allows(indexBytes(roomy)+int64(large)-held, newKeys) {
			*fullUntil = now + fullRetry
			return false
		}
	}
	s.moveTo(now, s.fill(now, roomy), s.mem.block(large))
	return true
}

// shrink gives back the memory that the live entries do not use.
func (s *shard) shrink(now int64) {
	entries, bytes := s.live(now)
	s.moveTo(now, s.fill(now, max(entries+entries/3, minEntries)), s.mem.block(max(bytes+bytes/2, minArena)))
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

// spread gives an index whose last run outgrew its room more homes. It happens so rarely and takes so little that the
// memory bound is not asked.
func (s *shard) spread(now int64) {
	s.moveTo(now, s.fill(now, s.index.count*5/4+indexTail), s.mem.block(len(s.arena)))
}

// each calls f for every record that holds information at now, in tag order, and gone for every other.
func (s *shard) each(now int64, f func(tag uint32, r record, size int), gone func(r record)) {
	for _, slot := range s.index.slots {
		if slot == 0 {
			continue
		}
		r := s.record(uint32(slot))
		if s.expired(r, now) {
			gone(r)
			continue
		}
		f(slotTag(slot), r, s.size(r))
	}
}

func leave(record) {}

// live counts the entries that hold information at now, and the bytes of their records.
func (s *shard) live(now int64) (entries, bytes int) {
	s.each(now, func(_ uint32, _ record, size int) {
		entries++
		bytes += size
	}, leave)
	return entries, bytes
}

// fill returns an index of the live records as moveTo will lay them out.
func (s *shard) fill(now int64, entries int) index {
	for {
		to, used, fits := newIndex(entries, s.mem), 0, true
		s.each(now, func(tag uint32, _ record, size int) {
			fits = fits && to.insert(tag, uint32(used/recordAlign)+1)
			used += size
		}, leave)
		if fits {
			return to
		}
		to.free() // the last run outgrew its room, which more homes spread out
		entries += entries/4 + indexTail
	}
}

// moveTo makes an index of fill and a new arena the shard's own.
func (s *shard) moveTo(now int64, to index, arena []byte) {
	used := 0
	s.dirty = s.dirty[:0] // noted again, under their new references
	s.each(now, func(_ uint32, r record, size int) {
		copy(arena[used:used+size], r[:size])
		if r.isDirty() {
			s.dirty = append(s.dirty, uint32(used/recordAlign)+1)
		}
		used += size
	}, func(r record) {
		s.preserve(r)
		s.noteDropped(r)
		s.uncount(r)
		s.limits.release(r.limitID())
	})
	s.index.free()
	s.mem.free(s.arena)
	s.index, s.arena, s.used, s.dead = to, arena, used, 0
	s.moves++
}
