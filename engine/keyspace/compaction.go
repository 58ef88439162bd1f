package keyspace

import (
	"github.com/stintdb/stint/engine/internal/arena"
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/tagindex"
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

	sampleEntries = 16 // looked at to learn whether many have expired
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
		if size, _, _ := t.arena.Totals(); t.mem.fits(int64(size/2), true) {
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
		size, used, dead := t.arena.Totals()
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
		t.arena.Each(func(n int, g *arena.Segment) {
			if won := len(g.Bytes) - wholePages(g.Live()); won > gain {
				best, gain = n, won
			}
		})
		switch {
		case gain == 0:
			return
		case t.arena.Segments[best].Live() == 0:
			t.freeSegment(best)
		default:
			t.moveSegment(best, len(t.arena.Segments[best].Bytes)-gain)
		}
	}
}

// dropSome drops entries that had expired at a time: those of a sample and, if many of it had, those of the segment
// whose turn it is, which is most likely the oldest one.
func (t *table) dropSome(expiredAt int64) {
	passed, dropped, to := t.sweep(uint64(t.sampleFrom), sampleEntries, expiredAt)
	t.sampleFrom = uint32(to) // at the end of the shard this is 0
	if dropped == 0 || dropped*roomyShare < passed || len(t.arena.Segments) == 0 {
		return
	}
	t.turn = (t.turn + 1) % uint32(len(t.arena.Segments))
	n := t.turn
	for at := 0; at < len(t.index.Slots); {
		slot := t.index.Slots[at]
		if arena.SegmentOf(uint32(slot)) != n || !t.expired(t.record(uint32(slot)), expiredAt) {
			at++
			continue
		}
		t.drop(Place{At: uint64(at), ref: uint32(slot), Found: true}) // moves the rest of the run up: the same position holds the next entry
	}
}

// wholePages rounds the size of a block up, to whole pages of memory where it has one.
func wholePages(bytes int) int {
	if bytes < arena.PageBytes {
		return engine.Align(bytes)
	}
	return (bytes + arena.PageBytes - 1) &^ (arena.PageBytes - 1)
}

// moveRecords copies the records of a segment to b, which begins at a reference, and returns their bytes. Their slots
// and notes refer to b from then on.
func (t *table) moveRecords(n int, b []byte, ref uint32) (used int) {
	t.Moves++
	t.forget(n, len(t.arena.Segments[n].Bytes))
	count := uint32(arena.Numbers(len(t.arena.Segments[n].Bytes)))
	for at, slot := range t.index.Slots {
		if arena.SegmentOf(uint32(slot))-uint32(n) >= count { // so are empty slots
			continue
		}
		r := t.record(uint32(slot))
		to := ref + uint32(used/engine.RecordAlign)
		used += copy(b[used:], r[:t.size(r)])
		t.index.Slots[at] = uint64(tagindex.TagOf(slot))<<32 | uint64(to)
		if r.isDirty() {
			t.dirty = append(t.dirty, to)
		}
	}
	return used
}

// compact moves the records of a segment of at most arena.SegmentBytes together.
func (t *table) compact(n int) {
	g, used := &t.arena.Segments[n], 0
	if g.Live() == 0 {
		t.forget(n, len(t.arena.Segments[n].Bytes))
	} else {
		buffer := t.mem.buffers.Get().(*[arena.SegmentBytes]byte)
		used = t.moveRecords(n, buffer[:], arena.RefOf(n, 0))
		copy(g.Bytes, buffer[:used])
		t.mem.buffers.Put(buffer)
	}
	clear(g.Bytes[used:g.Used])
	g.Used, g.Dead = used, 0
}

// moveSegment moves a segment to a block of a size, which needs no more numbers.
func (t *table) moveSegment(n, size int) {
	block := t.mem.block(size)
	used := t.moveRecords(n, block, arena.RefOf(n, 0))
	exchange(&t.arena, n, block, t.mem, t.Number)
	t.arena.Segments[n].Used = used
}

// freeSegment gives back a segment without records.
func (t *table) freeSegment(n int) {
	t.forget(n, len(t.arena.Segments[n].Bytes))
	exchange(&t.arena, n, nil, t.mem, t.Number)
}

// exchange gives a segment of a shard another block, or none.
func exchange(a *arena.Arena, n int, block []byte, mem *memory, shard uint32) {
	mem.large.Count(shard, len(block), 1)
	before := a.Replace(n, block)
	mem.large.Count(shard, len(before), -1)
	mem.free(before)
}

// trim gives memory back when under a third of it is in use.
func (t *table) trim() {
	bytes, used, dead := t.arena.Totals()
	switch {
	case t.index.Slots == nil && bytes == 0 && !t.pin.Used: // every sweep of a store without keys comes here
	case t.index.Count == 0:
		t.free()
		return
	case used-dead < bytes/3 && bytes > arena.SegmentBytes/4:
		t.shrink()
	}
	if t.large != nil {
		t.large.Heap.Trim()
	}
}

// shrink gives back the segments without records, some of those with few, and the room in the index.
func (t *table) shrink() {
	moved, count := 0, 0
	t.arena.Each(func(int, *arena.Segment) { count++ })
	t.arena.Each(func(n int, g *arena.Segment) {
		switch {
		case g.Live() == 0:
			t.freeSegment(n)
		case g.Live() > len(g.Bytes)/2 || moved >= trimSegments:
		case n != t.arena.Current && t.arena.Room() >= g.Live():
			moved++
			to := &t.arena.Segments[t.arena.Current]
			to.Used += t.moveRecords(n, to.Bytes[to.Used:], arena.RefOf(t.arena.Current, to.Used))
			t.freeSegment(n)
		case len(g.Bytes) <= arena.SegmentBytes && count > 1:
			moved++
			t.compact(n)
			t.arena.Current = n
		default:
			moved++
			t.moveSegment(n, wholePages(max(g.Live()+g.Live()/2, minArena)))
		}
	})
	if room := max(t.index.Count+t.index.Count/3, minEntries); room < t.index.Room()/2 {
		t.Moves++
		t.index.Resize(room, pages{t.mem})
	}
}
