package store

import (
	"math"
	"slices"

	"github.com/stintdb/stint/engine"
)

const (
	minArena   = 1 << 10
	minEntries = 16
	// A compaction must free at least 1/roomyShare of a segment, or 1/tightShare when memory is short.
	roomyShare = 4
	tightShare = 16
	// lingerNanos is the time for which expired entries are kept where memory suffices: a key that comes back finds its record, and
	// costs no more than a key that stayed.
	lingerNanos = 1_000_000_000

	sampleEntries = 64 // looked at to learn whether many have expired
	trimSegments  = 4  // most segments moved at a time to give memory back
)

// makeRoom makes room for more entries, whose records take some bytes in all. It drops entries that have expired, then compacts
// a segment or adds one. While memory suffices, entries linger after they expire. It returns false when the memory bound
// leaves no room. Without more entries, it is for a state that grows, and may use the reserve.
//
// Its cost does not depend on the size of the shard but for a pass over the index, of 8 bytes an entry, unless memory is short.
func (s *shard) makeRoom(now int64, entries, bytes int) bool {
	newKeys, fullUntil := entries > 0, &s.stuckUntil
	if newKeys {
		fullUntil = &s.fullUntil
	}
	again := now < *fullUntil && *fullUntil-now <= fullRetry
	if !again {
		if size, _, _ := s.arena.totals(); s.mem.fits(int64(size/2), true) {
			s.dropSome(now - lingerNanos)
			if s.grow(entries, bytes, newKeys, false) {
				return true
			}
		}
		*fullUntil = now + fullRetry
		s.dropExpired(now)
	}
	if s.grow(entries, bytes, newKeys, true) {
		return true
	}
	enough := bytes
	if newKeys {
		size, used, dead := s.arena.totals()
		if enough += size / tightShare; again || size-(used-dead) < enough {
			return false
		}
	}
	s.squeeze(int64(enough), newKeys)
	return s.grow(entries, bytes, newKeys, true)
}

// squeeze gives back memory of the arena that holds no records, until the bound has room for more bytes. Each step gives back a page, or
// more, and costs a pass over the index.
func (s *shard) squeeze(bytes int64, newKeys bool) {
	for !s.mem.fits(bytes, newKeys) {
		best, gain := 0, 0
		s.arena.each(func(n int, g *segment) {
			if won := len(g.bytes) - wholePages(g.live()); won > gain {
				best, gain = n, won
			}
		})
		switch {
		case gain == 0:
			return
		case s.arena.segments[best].live() == 0:
			s.freeSegment(best)
		default:
			s.moveSegment(best, len(s.arena.segments[best].bytes)-gain)
		}
	}
}

// dropSome drops entries that had expired at a time: those of a sample and, if many of it had, those of the segment whose turn it is,
// which is most likely the oldest one.
func (s *shard) dropSome(expiredAt int64) {
	passed, dropped, to := s.sweep(s.sampleFrom, sampleEntries, expiredAt)
	if s.sampleFrom = to; to > math.MaxUint32 {
		s.sampleFrom = 0
	}
	if dropped == 0 || dropped*roomyShare < passed || len(s.arena.segments) == 0 {
		return
	}
	s.arena.turn = (s.arena.turn + 1) % len(s.arena.segments)
	n := uint32(s.arena.turn)
	for at := 0; at < len(s.index.slots); {
		slot := s.index.slots[at]
		if segmentOf(uint32(slot)) != n || !s.expired(s.record(uint32(slot)), expiredAt) {
			at++
			continue
		}
		s.drop(place{at: uint64(at), ref: uint32(slot), found: true}) // moves the rest of the run up: the same position holds the next entry
	}
}

// dropExpired drops all expired entries.
func (s *shard) dropExpired(now int64) { s.sweep(0, math.MaxInt, now) }

// grow is makeRoom without dropping entries. When memory is short, it is content with little room.
func (s *shard) grow(entries, bytes int, newKeys, tight bool) bool {
	return s.openSegment(bytes, newKeys, tight) && s.growIndex(entries, newKeys, tight)
}

// growIndex makes room for more entries in the index.
func (s *shard) growIndex(entries int, newKeys, tight bool) bool {
	if !s.index.lacks(entries) {
		return true
	}
	all := s.index.count + entries
	room := max(all+all/3, minEntries)
	if indexBytes(2*all) < pageBytes/2 { // few entries, whose earlier blocks are left to the garbage collector
		room = max(2*all, minEntries)
	}
	if tight {
		if room = all; newKeys {
			room += all / tightShare
		}
	}
	if !s.allows(indexBytes(room)-s.index.bytes(), newKeys, tight) {
		return false
	}
	s.moves++
	s.index.resize(room)
	return true
}

// allows reports whether the memory bound allows more bytes, with some to spare unless memory is short.
func (s *shard) allows(bytes int64, newKeys, tight bool) bool {
	if tight {
		return s.mem.allows(bytes, newKeys)
	}
	return s.mem.fits(bytes, true)
}

// openSegment makes a segment with room for bytes the current one.
func (s *shard) openSegment(bytes int, newKeys, tight bool) bool {
	if s.arena.room() >= bytes {
		return true
	}
	n, ok := s.segmentWithRoom(bytes, newKeys, tight)
	if !ok {
		return false
	}
	last := s.arena.current
	s.arena.current = n
	if last != n {
		s.freeIfEmpty(last)
	}
	return true
}

// segmentWithRoom returns the number of a segment with room for bytes: one with unused or deleted bytes, else a new one. Large segments get no
// further records: a small one would keep a large block.
func (s *shard) segmentWithRoom(bytes int, newKeys, tight bool) (n int, ok bool) {
	share := roomyShare
	if tight {
		share = tightShare
	}
	best, gain := -1, 0
	only, count, total, live := 0, 0, 0, 0
	s.arena.each(func(n int, g *segment) {
		only, count, total, live = n, count+1, total+len(g.bytes), live+g.live()
		if won := len(g.bytes) - g.live(); won >= max(bytes, len(g.bytes)/share, gain+1) && len(g.bytes) <= segmentBytes {
			best, gain = n, won
		}
	})
	if best >= 0 {
		if g := &s.arena.segments[best]; g.room() < max(bytes, len(g.bytes)/share) {
			s.compact(best)
		}
		return best, true
	}
	if all := bytes + live; count == 1 && all <= segmentBytes {
		return only, s.growSegment(only, all, newKeys, tight)
	}
	size := max(bytes, min(total/2, segmentBytes), minArena)
	if tight {
		if size = bytes; newKeys {
			size = max(bytes, min(total/tightShare, segmentBytes))
		}
		if size < pageBytes && s.allows(pageBytes, newKeys, tight) { // a segment for each record would be many
			size = pageBytes
		}
	}
	if size <= segmentBytes {
		size = wholePages(size)
	} else {
		size = engine.Align(bytes) // without room for others
	}
	return s.addSegment(size, newKeys, tight)
}

// growSegment moves the only segment, which is small, to a larger block, for all bytes.
func (s *shard) growSegment(n, all int, newKeys, tight bool) bool {
	size := max(all+all/2, min(2*all, pageBytes), minArena)
	if tight {
		if size = all; newKeys {
			size += all / tightShare
		}
	}
	size = wholePages(min(size, segmentBytes))
	if !s.allows(int64(size-len(s.arena.segments[n].bytes)), newKeys, tight) {
		return false
	}
	s.moveSegment(n, size)
	return true
}

// addSegment adds a segment, and returns its number.
func (s *shard) addSegment(bytes int, newKeys, tight bool) (n int, ok bool) {
	if !s.allows(int64(bytes), newKeys, tight) {
		return 0, false
	}
	block := s.mem.block(bytes)
	if n, ok = s.arena.add(block); !ok {
		s.mem.free(block)
	}
	return n, ok
}

// wholePages rounds the size of a block up, to whole pages of memory where it has one.
func wholePages(bytes int) int {
	if bytes < pageBytes {
		return engine.Align(bytes)
	}
	return (bytes + pageBytes - 1) &^ (pageBytes - 1)
}

// moveRecords copies the records of a segment to b, which begins at a reference, and returns their bytes. Their slots and notes refer
// to b from then on.
func (s *shard) moveRecords(n int, b []byte, ref uint32) (used int) {
	s.moves++
	s.forgetDirty(n)
	count := uint32(numbers(len(s.arena.segments[n].bytes)))
	for at, slot := range s.index.slots {
		if segmentOf(uint32(slot))-uint32(n) >= count { // so are empty slots
			continue
		}
		r := s.record(uint32(slot))
		to := ref + uint32(used/engine.RecordAlign)
		used += copy(b[used:], r[:s.size(r)])
		s.index.slots[at] = uint64(slotTag(slot))<<32 | uint64(to)
		if r.isDirty() {
			s.dirty = append(s.dirty, to)
		}
	}
	return used
}

// forgetDirty drops the notes that refer to a segment.
func (s *shard) forgetDirty(n int) {
	count := uint32(numbers(len(s.arena.segments[n].bytes)))
	s.dirty = slices.DeleteFunc(s.dirty, func(ref uint32) bool { return segmentOf(ref)-uint32(n) < count })
}

// compact moves the records of a segment of at most segmentBytes together.
func (s *shard) compact(n int) {
	g, used := &s.arena.segments[n], 0
	if g.live() == 0 {
		s.forgetDirty(n)
	} else {
		buffer := s.mem.buffers.Get().(*[segmentBytes]byte)
		used = s.moveRecords(n, buffer[:], refOf(n, 0))
		copy(g.bytes, buffer[:used])
		s.mem.buffers.Put(buffer)
	}
	clear(g.bytes[used:g.used])
	g.used, g.dead = used, 0
}

// moveSegment moves a segment to a block of a size, which needs no more numbers.
func (s *shard) moveSegment(n, size int) {
	block := s.mem.block(size)
	used := s.moveRecords(n, block, refOf(n, 0))
	s.mem.free(s.arena.replace(n, block))
	s.arena.segments[n].used = used
}

// freeSegment gives back a segment without records.
func (s *shard) freeSegment(n int) {
	s.forgetDirty(n)
	s.mem.free(s.arena.replace(n, nil))
}

// trim gives memory back when under a third of it is in use.
func (s *shard) trim() {
	bytes, used, dead := s.arena.totals()
	switch {
	case s.index.count == 0:
		s.free()
	case used-dead < bytes/3 && bytes > segmentBytes/4:
		s.shrink()
	}
}

// shrink gives back the segments without records, some of those with few, and the room in the index.
func (s *shard) shrink() {
	moved, count := 0, 0
	s.arena.each(func(int, *segment) { count++ })
	s.arena.each(func(n int, g *segment) {
		switch {
		case g.live() == 0:
			s.freeSegment(n)
		case g.live() > len(g.bytes)/2 || moved >= trimSegments:
		case n != s.arena.current && s.arena.room() >= g.live():
			moved++
			to := &s.arena.segments[s.arena.current]
			to.used += s.moveRecords(n, to.bytes[to.used:], refOf(s.arena.current, to.used))
			s.freeSegment(n)
		case len(g.bytes) <= segmentBytes && count > 1:
			moved++
			s.compact(n)
			s.arena.current = n
		default:
			moved++
			s.moveSegment(n, wholePages(max(g.live()+g.live()/2, minArena)))
		}
	})
	if room := max(s.index.count+s.index.count/3, minEntries); room < s.index.room()/2 {
		s.moves++
		s.index.resize(room)
	}
}
