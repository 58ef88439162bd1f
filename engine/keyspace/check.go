package keyspace

import (
	"fmt"
	"github.com/stintdb/stint/engine/internal/arena"
	"github.com/stintdb/stint/engine/largevalues"

	"github.com/stintdb/stint/engine/internal/tagindex"
)

// Check returns an error if the keyspace's tables and counts contradict each other. It looks at every key. Nothing else
// may use the keyspace in the meantime: it is for tests.
func (s *Keyspace) Check() error {
	users, growing := map[uint32]int64{}, int64(0)
	for i := range s.shards {
		t := &s.shards[i].table
		if err := t.check(); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
		t.each(func(r record) {
			users[r.limitID()]++
			growing += t.growable(r)
		})
		if t.pin.Used {
			users[t.pin.ID]++
		}
	}
	if n := s.memory.growing.Load(); n != growing {
		return fmt.Errorf("states can grow by %d bytes, counted as %d", growing, n)
	}
	return s.limits().Check(users)
}

// check checks that the index is in the order of tags, with no entry before its home and no gap before an entry that
// belongs earlier, and that the bytes of records add up.
func (t *table) check() error {
	count, bytes, last := 0, 0, uint32(0)
	for at, slot := range t.index.Slots {
		if slot == 0 {
			continue
		}
		tag := tagindex.TagOf(slot)
		home := t.index.Home(tag)
		if tag < last || home > uint64(at) {
			return fmt.Errorf("slot %d: tag %x after %x, home %d", at, tag, last, home)
		}
		for between := home; between < uint64(at); between++ {
			if t.index.Slots[between] == 0 {
				return fmt.Errorf("slot %d: empty slot %d between it and its home", at, between)
			}
		}
		last = tag
		count++
		bytes += t.size(t.record(uint32(slot)))
	}
	if n := len(t.index.Slots); n > 0 && t.index.Slots[n-1] != 0 {
		return fmt.Errorf("the last of %d slots is taken: a probe would not end", n)
	}
	if _, used, dead := t.arena.Totals(); count != t.index.Count || bytes != used-dead {
		return fmt.Errorf("%d entries counted as %d, %d bytes as %d", count, t.index.Count, bytes, used-dead)
	}
	if err := checkLarge(t); err != nil {
		return err
	}
	return t.checkSegments()
}

// checkLarge checks that the blocks of values add up.
func checkLarge(t *table) error {
	if t.large == nil {
		return nil
	}
	stored := 0
	t.each(func(r record) {
		if limit, state := t.stateOf(r); largevalues.IsHead(limit, state) {
			stored += largevalues.Stored(state)
		}
	})
	if live := t.large.Heap.Live(); live != stored {
		return fmt.Errorf("%d bytes of blocks counted as %d", live, stored)
	}
	return nil
}

// checkSegments checks that the bytes of each segment add up, and that records and notes refer to segments.
func (t *table) checkSegments() error {
	a, live := &t.arena, map[*arena.Segment]int{}
	for _, slot := range t.index.Slots {
		if slot != 0 {
			live[&a.Segments[a.FirstNumber(uint32(slot))]] += t.size(t.record(uint32(slot)))
		}
	}
	if a.Current < len(a.Segments) && a.Segments[a.Current].Part != 0 {
		return fmt.Errorf("segment %d is the current one, and part %d of another", a.Current, a.Segments[a.Current].Part)
	}
	parts := 0
	var err error
	a.Each(func(n int, g *arena.Segment) {
		if err == nil {
			err = checkSegment(a, n, live[g])
		}
		parts += arena.Numbers(len(g.Bytes))
		delete(live, g)
	})
	if err != nil {
		return err
	}
	for n, g := range a.Segments {
		if g.Bytes != nil {
			parts--
		} else if g.Used != 0 || n == len(a.Segments)-1 {
			return fmt.Errorf("free number %d of %d: %d used", n, len(a.Segments), g.Used)
		}
	}
	if parts != 0 || len(live) != 0 {
		return fmt.Errorf("%d numbers without a block, records in %d segments that there are not", parts, len(live))
	}
	for _, ref := range t.dirty {
		if a.Segments[a.FirstNumber(ref)].Bytes == nil {
			return fmt.Errorf("a note refers to segment %d, which is free", arena.SegmentOf(ref))
		}
	}
	return nil
}

func checkSegment(a *arena.Arena, n, live int) error {
	g := &a.Segments[n]
	if g.Used > len(g.Bytes) || g.Live() != live {
		return fmt.Errorf("segment %d of %d bytes: %d used, %d of them dead, %d live", n, len(g.Bytes), g.Used, g.Dead, live)
	}
	for _, b := range g.Bytes[g.Used:] {
		if b != 0 {
			return fmt.Errorf("segment %d: not zero after %d bytes", n, g.Used)
		}
	}
	for i := range arena.Numbers(len(g.Bytes)) {
		if p := a.Segments[n+i]; p.Part != i || len(p.Bytes) != len(g.Bytes)-i*arena.SegmentBytes {
			return fmt.Errorf("segment %d, part %d: part %d of %d bytes", n, i, p.Part, len(p.Bytes))
		}
	}
	return nil
}
