package keyspace

import "fmt"

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
	for at, slot := range t.index.slots {
		if slot == 0 {
			continue
		}
		tag := slotTag(slot)
		home := t.index.home(tag)
		if tag < last || home > uint64(at) {
			return fmt.Errorf("slot %d: tag %x after %x, home %d", at, tag, last, home)
		}
		for between := home; between < uint64(at); between++ {
			if t.index.slots[between] == 0 {
				return fmt.Errorf("slot %d: empty slot %d between it and its home", at, between)
			}
		}
		last = tag
		count++
		bytes += t.size(t.record(uint32(slot)))
	}
	if n := len(t.index.slots); n > 0 && t.index.slots[n-1] != 0 {
		return fmt.Errorf("the last of %d slots is taken: a probe would not end", n)
	}
	if _, used, dead := t.arena.totals(); count != t.index.count || bytes != used-dead {
		return fmt.Errorf("%d entries counted as %d, %d bytes as %d", count, t.index.count, bytes, used-dead)
	}
	return t.checkSegments()
}

// checkSegments checks that the bytes of each segment add up, and that records and notes refer to segments.
func (t *table) checkSegments() error {
	a, live := &t.arena, map[*segment]int{}
	for _, slot := range t.index.slots {
		if slot != 0 {
			live[&a.segments[a.firstNumber(uint32(slot))]] += t.size(t.record(uint32(slot)))
		}
	}
	if a.current < len(a.segments) && a.segments[a.current].part != 0 {
		return fmt.Errorf("segment %d is the current one, and part %d of another", a.current, a.segments[a.current].part)
	}
	parts := 0
	var err error
	a.each(func(n int, g *segment) {
		if err == nil {
			err = a.checkSegment(n, live[g])
		}
		parts += numbers(len(g.bytes))
		delete(live, g)
	})
	if err != nil {
		return err
	}
	for n, g := range a.segments {
		if g.bytes != nil {
			parts--
		} else if g.used != 0 || n == len(a.segments)-1 {
			return fmt.Errorf("free number %d of %d: %d used", n, len(a.segments), g.used)
		}
	}
	if parts != 0 || len(live) != 0 {
		return fmt.Errorf("%d numbers without a block, records in %d segments that there are not", parts, len(live))
	}
	for _, ref := range t.dirty {
		if a.segments[a.firstNumber(ref)].bytes == nil {
			return fmt.Errorf("a note refers to segment %d, which is free", segmentOf(ref))
		}
	}
	return nil
}

func (a *arena) checkSegment(n, live int) error {
	g := &a.segments[n]
	if g.used > len(g.bytes) || g.live() != live {
		return fmt.Errorf("segment %d of %d bytes: %d used, %d of them dead, %d live", n, len(g.bytes), g.used, g.dead, live)
	}
	for _, b := range g.bytes[g.used:] {
		if b != 0 {
			return fmt.Errorf("segment %d: not zero after %d bytes", n, g.used)
		}
	}
	for i := range numbers(len(g.bytes)) {
		if p := a.segments[n+i]; p.part != i || len(p.bytes) != len(g.bytes)-i*segmentBytes {
			return fmt.Errorf("segment %d, part %d: part %d of %d bytes", n, i, p.part, len(p.bytes))
		}
	}
	return nil
}
