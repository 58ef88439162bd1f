package keyspace

import (
	"math"

	"github.com/stintdb/stint/engine"
)

const (
	minArena   = 1 << 10
	minEntries = 16
	// A compaction must free at least 1/roomyShare of a segment, or 1/tightShare when memory is short.
	roomyShare = 4
	tightShare = 16
	// lingerNanos is the time for which expired entries are kept where memory suffices: a key that comes back finds its
	// record, and costs no more than a key that stayed.
	lingerNanos = 1_000_000_000

	sampleEntries = 64 // looked at to learn whether many have expired
	trimSegments  = 4  // most segments moved at a time to give memory back
)

// makeRoom makes room for more entries, whose records take some bytes in all. It drops entries that have expired, then
// compacts a segment or adds one. While memory suffices, entries linger after they expire. It returns false when the
// memory bound leaves no room. Without more entries, it is for a state that grows, and may use the reserve.
//
// Its cost does not depend on the size of the shard but for a pass over the index, of 8 bytes an entry, unless memory
// is short.
func (t *table) makeRoom(now int64, entries, bytes int) bool {
	newKeys, fullUntil := entries > 0, &t.stuckUntil
	if newKeys {
		fullUntil = &t.fullUntil
	}
	again := now < *fullUntil && *fullUntil-now <= fullRetry
	if !again {
		if size, _, _ := t.arena.totals(); t.mem.fits(int64(size/2), true) {
			t.dropSome(now - lingerNanos)
			if (growth{t, newKeys, false}).fit(entries, bytes) {
				return true
			}
		}
		*fullUntil = now + fullRetry
		t.sweep(0, math.MaxInt, now)
	}
	tight := growth{t, newKeys, true}
	if tight.fit(entries, bytes) {
		return true
	}
	enough := bytes
	if newKeys {
		size, used, dead := t.arena.totals()
		if enough += size / tightShare; again || size-(used-dead) < enough {
			return false
		}
	}
	t.squeeze(int64(enough), newKeys)
	return tight.fit(entries, bytes)
}

// squeeze gives back memory of the arena that holds no records, until the bound has room for more bytes. Each step
// gives back a page, or more, and costs a pass over the index.
func (t *table) squeeze(bytes int64, newKeys bool) {
	for !t.mem.fits(bytes, newKeys) {
		best, gain := 0, 0
		t.arena.each(func(n int, g *segment) {
			if won := len(g.bytes) - wholePages(g.live()); won > gain {
				best, gain = n, won
			}
		})
		switch {
		case gain == 0:
			return
		case t.arena.segments[best].live() == 0:
			t.freeSegment(best)
		default:
			t.moveSegment(best, len(t.arena.segments[best].bytes)-gain)
		}
	}
}

// dropSome drops entries that had expired at a time: those of a sample and, if many of it had, those of the segment
// whose turn it is, which is most likely the oldest one.
func (t *table) dropSome(expiredAt int64) {
	passed, dropped, to := t.sweep(t.sampleFrom, sampleEntries, expiredAt)
	if t.sampleFrom = to; to > math.MaxUint32 {
		t.sampleFrom = 0
	}
	if dropped == 0 || dropped*roomyShare < passed || len(t.arena.segments) == 0 {
		return
	}
	t.arena.turn = (t.arena.turn + 1) % len(t.arena.segments)
	n := uint32(t.arena.turn)
	for at := 0; at < len(t.index.slots); {
		slot := t.index.slots[at]
		if segmentOf(uint32(slot)) != n || !t.expired(t.record(uint32(slot)), expiredAt) {
			at++
			continue
		}
		t.drop(Place{At: uint64(at), ref: uint32(slot), Found: true}) // moves the rest of the run up: the same position holds the next entry
	}
}

// wholePages rounds the size of a block up, to whole pages of memory where it has one.
func wholePages(bytes int) int {
	if bytes < pageBytes {
		return engine.Align(bytes)
	}
	return (bytes + pageBytes - 1) &^ (pageBytes - 1)
}

// moveRecords copies the records of a segment to b, which begins at a reference, and returns their bytes. Their slots
// and notes refer to b from then on.
func (t *table) moveRecords(n int, b []byte, ref uint32) (used int) {
	t.Moves++
	t.forget(n, len(t.arena.segments[n].bytes))
	count := uint32(numbers(len(t.arena.segments[n].bytes)))
	for at, slot := range t.index.slots {
		if segmentOf(uint32(slot))-uint32(n) >= count { // so are empty slots
			continue
		}
		r := t.record(uint32(slot))
		to := ref + uint32(used/engine.RecordAlign)
		used += copy(b[used:], r[:t.size(r)])
		t.index.slots[at] = uint64(slotTag(slot))<<32 | uint64(to)
		if r.isDirty() {
			t.dirty = append(t.dirty, to)
		}
	}
	return used
}

// compact moves the records of a segment of at most segmentBytes together.
func (t *table) compact(n int) {
	g, used := &t.arena.segments[n], 0
	if g.live() == 0 {
		t.forget(n, len(t.arena.segments[n].bytes))
	} else {
		buffer := t.mem.buffers.Get().(*[segmentBytes]byte)
		used = t.moveRecords(n, buffer[:], refOf(n, 0))
		copy(g.bytes, buffer[:used])
		t.mem.buffers.Put(buffer)
	}
	clear(g.bytes[used:g.used])
	g.used, g.dead = used, 0
}

// moveSegment moves a segment to a block of a size, which needs no more numbers.
func (t *table) moveSegment(n, size int) {
	block := t.mem.block(size)
	used := t.moveRecords(n, block, refOf(n, 0))
	t.arena.exchange(n, block, t.mem, t.Number)
	t.arena.segments[n].used = used
}

// freeSegment gives back a segment without records.
func (t *table) freeSegment(n int) {
	t.forget(n, len(t.arena.segments[n].bytes))
	t.arena.exchange(n, nil, t.mem, t.Number)
}

// exchange gives a segment of a shard another block, or none.
func (a *arena) exchange(n int, block []byte, mem *memory, shard uint32) {
	mem.large.count(shard, len(block), 1)
	before := a.replace(n, block)
	mem.large.count(shard, len(before), -1)
	mem.free(before)
}

// trim gives memory back when under a third of it is in use.
func (t *table) trim() {
	bytes, used, dead := t.arena.totals()
	switch {
	case t.index.slots == nil && bytes == 0 && !t.pin.Used: // every sweep of a store without keys comes here
	case t.index.count == 0:
		t.free()
	case used-dead < bytes/3 && bytes > segmentBytes/4:
		t.shrink()
	}
}

// shrink gives back the segments without records, some of those with few, and the room in the index.
func (t *table) shrink() {
	moved, count := 0, 0
	t.arena.each(func(int, *segment) { count++ })
	t.arena.each(func(n int, g *segment) {
		switch {
		case g.live() == 0:
			t.freeSegment(n)
		case g.live() > len(g.bytes)/2 || moved >= trimSegments:
		case n != t.arena.current && t.arena.room() >= g.live():
			moved++
			to := &t.arena.segments[t.arena.current]
			to.used += t.moveRecords(n, to.bytes[to.used:], refOf(t.arena.current, to.used))
			t.freeSegment(n)
		case len(g.bytes) <= segmentBytes && count > 1:
			moved++
			t.compact(n)
			t.arena.current = n
		default:
			moved++
			t.moveSegment(n, wholePages(max(g.live()+g.live()/2, minArena)))
		}
	})
	if room := max(t.index.count+t.index.count/3, minEntries); room < t.index.room()/2 {
		t.Moves++
		t.index.resize(room, t.mem)
	}
}
