package keyspace

import (
	"github.com/stintdb/stint/engine/internal/tagindex"
	"math"
)

// A cursor names a shard and a tag: shard<<33 | tag, where the tag has a 33rd bit for "past the last". Indexes are in
// tag order, so a cursor stays valid across any number of resizes.
const cursorTagBits = 33

// Scan calls visit for every entry from cursor on that holds information at now, until at least count entries were
// passed over, and returns the cursor to go on from; 0 starts, and a returned 0 is the end. Every entry that exists
// throughout a whole scan is visited, exactly once. visit runs under a lock: it must be quick and must not call the
// store.
func (s *Keyspace) Scan(cursor uint64, count int, now int64, visit func(Entry)) (next uint64) {
	return s.ScanWhile(cursor, count, now, func(e Entry) bool { visit(e); return true })
}

// ScanWhile is [Store.Scan] that also ends once visit has returned false: after the entry visited then, and those of
// the same tag, of which there is hardly ever one.
func (s *Keyspace) ScanWhile(cursor uint64, count int, now int64, visit func(Entry) (more bool)) (next uint64) {
	number, from := cursor>>cursorTagBits, cursor&(1<<cursorTagBits-1)
	for ; number < uint64(len(s.shards)); number, from = number+1, 0 {
		sh := &s.shards[number]
		sh.mu.Lock()
		passed, stopped, to := sh.scan(from, count, now, visit)
		sh.mu.Unlock()
		if count -= passed; stopped {
			count = 0
		}
		if to <= math.MaxUint32 {
			return number<<cursorTagBits | to
		}
		if count <= 0 && number+1 < uint64(len(s.shards)) {
			return (number + 1) << cursorTagBits
		}
	}
	return 0
}

// scan visits entries from a tag on. It never stops between entries of one tag. to is the tag to go on from, beyond
// 32 bits at the end of the shard.
func (t *table) scan(from uint64, count int, now int64, visit func(Entry) (more bool)) (passed int, stopped bool, to uint64) {
	const end = uint64(math.MaxUint32) + 1
	if t.index.Count == 0 || from >= end {
		return 0, false, end
	}
	last := end
	for _, slot := range t.index.Slots[t.index.Seek(uint32(from)):] {
		if slot == 0 {
			continue
		}
		tag := uint64(tagindex.TagOf(slot))
		if (passed >= count || stopped) && tag != last {
			return passed, stopped, tag
		}
		last = tag
		passed++
		r := t.record(uint32(slot))
		if !t.expired(r, now) {
			more := visit(t.entry(r))
			stopped = stopped || !more
		}
	}
	return passed, stopped, end
}

// Sweep drops entries that hold no information at now. It looks at about count entries, going on where the last
// call stopped, holds no lock for more than a few hundred of them, and gives memory back where much of it is unused.
func (s *Keyspace) Sweep(now int64, count int) (looked, dropped int) {
	s.sweepMu.Lock()
	defer s.sweepMu.Unlock()
	const stride = 256
	for looked < count {
		number, from := s.sweepAt>>cursorTagBits, s.sweepAt&(1<<cursorTagBits-1)
		sh := &s.shards[number]
		passed, gone, to := sh.sweepStep(from, stride, now)
		looked, dropped = looked+max(passed, 1), dropped+gone
		s.sweepAt = number<<cursorTagBits | to
		if to > math.MaxUint32 {
			s.sweepAt = (number + 1) % uint64(len(s.shards)) << cursorTagBits
		}
	}
	return looked, dropped
}

// sweepStep sweeps a part of a shard. One that a Snapshot has not visited yet is left to another round: each dropped
// record would have to be copied.
func (s *Shard) sweepStep(from uint64, count int, now int64) (passed, dropped int, to uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot != nil {
		return 0, 0, math.MaxUint32 + 1
	}
	if passed, dropped, to = s.sweep(from, count, now); to > math.MaxUint32 {
		s.trim()
	}
	return passed, dropped, to
}

func (t *table) sweep(from uint64, count int, now int64) (passed, dropped int, to uint64) {
	const end = uint64(math.MaxUint32) + 1
	if t.index.Count == 0 {
		return 0, 0, end
	}
	for at := t.index.Seek(uint32(from)); at < uint64(len(t.index.Slots)); {
		slot := t.index.Slots[at]
		if slot == 0 {
			at++
			continue
		}
		if passed >= count {
			return passed, dropped, uint64(tagindex.TagOf(slot))
		}
		passed++
		if t.expired(t.record(uint32(slot)), now) {
			t.drop(Place{At: at, ref: uint32(slot), Found: true})
			dropped++
			continue // the run moved up: the same position holds the next entry
		}
		at++
	}
	return passed, dropped, end
}
