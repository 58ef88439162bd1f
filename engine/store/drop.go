package store

import (
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// remove drops the entry at p and notes that it is gone.
func (s *shard) remove(p place) {
	r := s.record(p.ref)
	s.noteGone(r.key())
	r.setDirty(false)
	s.drop(p)
}

// drop removes the entry at p, which has expired.
func (s *shard) drop(p place) {
	s.moves++
	r := s.record(p.ref)
	s.preserve(r)
	s.noteDropped(r)
	s.uncount(r)
	r.setDirty(false)
	size := s.size(r) // needs the limit, whose number is given away next
	s.limits.release(r.limitID())
	s.index.remove(p.at)
	s.vacate(p.ref, size)
}

// vacate counts the bytes of a record that no slot refers to any longer. If it was the last one in a large segment, this segment is freed,
// unless it is the current one: room in it may be reserved.
func (s *shard) vacate(ref uint32, bytes int) {
	n := s.arena.firstNumber(ref)
	s.arena.segments[n].dead += bytes
	if n != s.arena.current {
		s.freeIfEmpty(n)
	}
}

// freeIfEmpty frees a large segment without records.
func (s *shard) freeIfEmpty(n int) {
	if n < len(s.arena.segments) {
		if g := &s.arena.segments[n]; len(g.bytes) > segmentBytes && g.part == 0 && g.live() == 0 {
			s.freeSegment(n)
		}
	}
}

// uncount removes a record from the counts.
func (s *shard) uncount(r record) {
	s.countGrowing(-s.growable(r))
	if s.quotas != nil {
		s.quotas.add(r.key(), -1)
	}
	s.dropKept(r.key(), s.limitOf(r).Algorithm)
}

// free removes every entry. Neighbours mostly share a limit, and their uses of it are given back together: an atomic
// operation for each of a million entries would hold the shards for 50 ms.
func (s *shard) free() {
	var id uint32
	var uses, growable int64
	fixed := true
	for _, slot := range s.index.slots {
		if slot == 0 {
			continue
		}
		r := s.record(uint32(slot))
		if r.limitID() != id || uses == 0 {
			s.limits.releaseUses(id, uses)
			id, uses = r.limitID(), 0
			fixed = algorithm.Table[s.limitOf(r).Algorithm].Bytes != 0
		}
		uses++
		if !fixed {
			growable += s.growable(r)
		}
		if s.quotas != nil {
			s.quotas.add(r.key(), -1)
		}
	}
	s.limits.releaseUses(id, uses)
	s.countGrowing(-growable)
	if s.pin.used {
		s.limits.release(s.pin.id)
		s.pin = pinned{}
	}
	if s.snapshot != nil {
		s.snapshot.takeOver(s)
	} else {
		s.index.free()
		s.arena.each(func(_ int, g *segment) { s.mem.free(g.bytes) })
	}
	s.arena, s.index = arena{}, index{mem: s.mem}
	s.mem.lentKeys.Add(-int64(len(s.lent)))
	s.mem.tanks.Add(-int64(len(s.tanks)))
	s.dirty, s.lent, s.tanks = nil, nil, nil
	s.sampleFrom, s.fullUntil, s.stuckUntil = 0, 0, 0
}

// addKept and dropKept count a key whose state a Flush keeps.
func (s *shard) addKept(key []byte, a limits.Algorithm) {
	switch {
	case a.IsLent():
		s.addLent(key)
	case a.Home() != limits.NoAlgorithm:
		if s.tanks == nil {
			s.tanks = map[string]struct{}{}
		}
		s.tanks[string(key)] = struct{}{}
		s.mem.tanks.Add(1)
	}
}

func (s *shard) dropKept(key []byte, a limits.Algorithm) {
	switch {
	case a.IsLent():
		s.dropLent(key)
	case a.Home() != limits.NoAlgorithm:
		delete(s.tanks, string(key))
		s.mem.tanks.Add(-1)
	}
}
