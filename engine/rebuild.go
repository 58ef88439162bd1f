package engine

const minArena = 256

// rebuild copies the live records to a new arena and index with room for more entries of moreBytes in all, leaving
// out what holds no information at now. Growing and winning back dead space are the same pass. It reports false,
// having changed nothing, when the memory bound leaves no room.
func (s *shard) rebuild(now int64, more, moreBytes int) bool {
	if now < s.fullUntil && s.fullUntil-now <= fullRetry {
		return false
	}
	entries, bytes := s.live(now)
	entries, bytes = entries+more, bytes+moreBytes
	roomy, arena := entries+entries/3, max(minArena, bytes+bytes/2)
	if held := s.index.bytes() + int64(len(s.arena)); !s.mem.allows(indexBytes(roomy) + int64(arena) - held) {
		roomy, arena = entries, bytes // no room to grow into: just enough
		if !s.mem.allows(indexBytes(roomy) + int64(arena) - held) {
			s.fullUntil = now + fullRetry
			return false
		}
	}
	s.moveTo(now, s.fill(now, roomy), s.mem.block(arena))
	return true
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
	s.each(now, func(_ uint32, r record, size int) {
		copy(arena[used:used+size], r[:size])
		used += size
	}, func(r record) { s.limits.release(r.limitID()) })
	s.index.free()
	s.mem.free(s.arena)
	s.index, s.arena, s.used, s.dead = to, arena, used, 0
}
