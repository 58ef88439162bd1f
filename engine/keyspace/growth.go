package keyspace

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/arena"

	"github.com/stintdb/stint/engine/internal/tagindex"
)

// growth makes room in a table without dropping entries.
type growth struct {
	*table
	newKeys bool // it is for new keys, which may not take the reserve
	tight   bool // memory is short: it is content with little room
}

// fit makes room for more entries, whose records take some bytes in all.
func (t growth) fit(entries, bytes int) bool { return t.openSegment(bytes) && t.growIndex(entries) }

// growIndex makes room for more entries in the index.
func (t growth) growIndex(entries int) bool {
	if !t.index.Lacks(entries) {
		return true
	}
	all := t.index.Count + entries
	room := max(all+all/3, minEntries)
	if tagindex.BytesFor(2*all) < arena.PageBytes/2 { // few entries, whose earlier blocks are left to the garbage collector
		room = max(2*all, minEntries)
	}
	if t.tight {
		if room = all; t.newKeys {
			room += all / tightShare
		}
	}
	if !t.allows(tagindex.BytesFor(room) - t.index.Bytes()) {
		return false
	}
	t.Moves++
	t.index.Resize(room, pages{t.mem})
	return true
}

// allows reports whether the memory bound allows more bytes, with some to spare unless memory is short.
func (t growth) allows(bytes int64) bool {
	if t.tight {
		return t.mem.allows(bytes, t.newKeys)
	}
	return t.mem.fits(bytes, true)
}

// openSegment makes a segment with room for bytes the current one.
func (t growth) openSegment(bytes int) bool {
	if t.arena.Room() >= bytes {
		return true
	}
	n, ok := t.segmentWithRoom(bytes)
	if !ok {
		return false
	}
	last := t.arena.Current
	t.arena.Current = n
	if last != n {
		t.freeIfEmpty(last)
	}
	return true
}

// segmentWithRoom returns the number of a segment with room for bytes: one with unused or deleted bytes, else a new
// one. Large segments get no further records: a small one would keep a large block.
func (t growth) segmentWithRoom(bytes int) (n int, ok bool) {
	share := roomyShare
	if t.tight {
		share = tightShare
	}
	best, gain := -1, 0
	only, count, total, live := 0, 0, 0, 0
	t.arena.Each(func(n int, g *arena.Segment) {
		only, count, total, live = n, count+1, total+len(g.Bytes), live+g.Live()
		if won := len(g.Bytes) - g.Live(); won >= max(bytes, len(g.Bytes)/share, gain+1) && len(g.Bytes) <= arena.SegmentBytes {
			best, gain = n, won
		}
	})
	if best >= 0 {
		if g := &t.arena.Segments[best]; g.Room() < max(bytes, len(g.Bytes)/share) {
			t.compact(best)
		}
		return best, true
	}
	if all := bytes + live; count == 1 && all <= arena.SegmentBytes {
		return only, t.growSegment(only, all)
	}
	size := max(bytes, min(total/2, arena.SegmentBytes), minArena)
	if t.tight {
		if size = bytes; t.newKeys {
			size = max(bytes, min(total/tightShare, arena.SegmentBytes))
		}
		if size < arena.PageBytes && t.allows(arena.PageBytes) { // a segment for each record would be many
			size = arena.PageBytes
		}
	}
	if size <= arena.SegmentBytes {
		size = wholePages(size)
	} else {
		size = engine.Align(bytes) // without room for others
	}
	return t.addSegment(size)
}

// growSegment gives the only segment room for all bytes, which are few. It moves if there is no room at its place, and if
// it was a large segment for one record, which is counted and given back as a whole.
func (t growth) growSegment(n, all int) bool {
	size := max(all+all/2, min(2*all, arena.PageBytes), minArena)
	if t.tight {
		if size = all; t.newKeys {
			size += all / tightShare
		}
	}
	size = wholePages(min(size, arena.SegmentBytes))
	if !t.allows(int64(size - len(t.arena.Segments[n].Bytes))) {
		return false
	}
	g := &t.arena.Segments[n]
	if size > cap(g.Bytes) || len(g.Bytes) > arena.SegmentBytes {
		t.moveSegment(n, size)
		return true
	}
	if g.Dead > 0 {
		t.compact(n)
	}
	g.Bytes = t.mem.extend(g.Bytes, size)
	return true
}

// addSegment adds a segment, and returns its number.
func (t growth) addSegment(bytes int) (n int, ok bool) {
	if !t.allows(int64(bytes)) {
		return 0, false
	}
	block := t.mem.block(bytes)
	if n, ok = t.arena.Add(block); !ok {
		t.mem.free(block)
		return 0, false
	}
	t.mem.large.Count(t.Number, bytes, 1)
	return n, true
}
