package keyspace

import (
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/internal/arena"
	"github.com/stintdb/stint/engine/internal/limitset"
	"github.com/stintdb/stint/engine/internal/tagindex"
)

// remove drops the entry at p and notes that it is gone.
func (t *table) remove(p Place) {
	r := t.record(p.ref)
	t.noteGone(r.key())
	r.setDirty(false)
	t.drop(p)
}

// drop removes the entry at p, which has expired.
func (t *table) drop(p Place) {
	t.Moves++
	r := t.record(p.ref)
	t.preserve(r)
	if limit, state := t.stateOf(r); t.large.Owns(limit, state) {
		t.large.Free(r.key(), limit, state)
		t.mem.large.Add(t.Number, -1)
	}
	t.noteDropped(r)
	t.changes.tell(r.key())
	t.uncount(r)
	r.setDirty(false)
	size := t.size(r) // needs the limit, whose number is given away next
	t.limits.Release(r.limitID())
	t.index.Remove(p.At)
	t.vacate(p.ref, size)
}

// vacate counts the bytes of a record that no slot refers to any longer. If it was the last one in a large segment,
// this segment is freed, unless it is the current one: room in it may be reserved.
func (t *table) vacate(ref uint32, bytes int) {
	n := t.arena.FirstNumber(ref)
	t.arena.Segments[n].Dead += bytes
	if n != t.arena.Current {
		t.freeIfEmpty(n)
	}
}

// freeIfEmpty frees a large segment without records.
func (t *table) freeIfEmpty(n int) {
	if n < len(t.arena.Segments) {
		if g := &t.arena.Segments[n]; len(g.Bytes) > arena.SegmentBytes && g.Part == 0 && g.Live() == 0 {
			t.freeSegment(n)
		}
	}
}

// uncount removes a record from the counts.
func (t *table) uncount(r record) {
	t.countGrowing(-t.growable(r))
	if t.quotas != nil {
		t.quotas.Add(r.key(), -1)
	}
	t.mem.databases.Add(r.key(), -1)
	t.kept.drop(t.mem, r.key(), t.limitOf(r).Algorithm)
}

// free removes every entry. Neighbours mostly share a limit, and their uses of it are given back together: an atomic
// operation for each of a million entries would hold the shards for 50 ms.
func (t *table) free() {
	var id uint32
	var uses, growable int64
	fixed := true
	for _, slot := range t.index.Slots {
		if slot == 0 {
			continue
		}
		r := t.record(uint32(slot))
		if r.limitID() != id || uses == 0 {
			t.limits.ReleaseUses(id, uses)
			id, uses = r.limitID(), 0
			fixed = algorithm.Table[t.limitOf(r).Algorithm].Bytes != 0
		}
		uses++
		if !fixed {
			growable += t.growable(r)
		}
		if t.quotas != nil {
			t.quotas.Add(r.key(), -1)
		}
		t.mem.databases.Add(r.key(), -1)
	}
	t.limits.ReleaseUses(id, uses)
	t.countGrowing(-growable)
	if t.pin.Used {
		t.limits.Release(t.pin.ID)
		t.pin = limitset.Pin{}
	}
	if t.snapshot != nil {
		t.snapshot.takeOver(t)
	} else {
		t.index.Free(pages{t.mem})
		t.arena.Each(func(_ int, g *arena.Segment) { t.mem.free(g.Bytes) })
		if t.large != nil {
			t.large.Heap.Clear()
		}
	}
	t.large = nil
	t.mem.large.Clear(t.Number)
	t.arena, t.index = arena.Arena{}, tagindex.Index{}
	t.kept.clear(t.mem)
	t.dirty = nil
	t.sampleFrom, t.turn, t.fullUntil, t.stuckUntil, t.Moves = 0, 0, 0, 0, t.Moves+1
}
