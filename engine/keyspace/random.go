package keyspace

import "sort"

// randomWalk is the number of slots of an index that Random reads from a random one on.
const randomWalk = 64

// Random calls visit for entries at random places that have not expired at now, until it returns false or after the
// given number of tries. intN returns a random number from 0 to below its argument. It looks at every shard once, and
// then at a few dozen slots for each try. visit runs under a lock: it must be quick and must not call the store.
func (s *Keyspace) Random(tries int, now int64, intN func(int) int, visit func(Entry) (more bool)) {
	ends, total := make([]int, len(s.shards)), 0 // of each shard's keys in one sequence of all keys
	s.each(func(sh *Shard) {
		total += sh.index.Count
		ends[sh.Number] = total
	})
	for range tries {
		if total == 0 || !s.shards[sort.SearchInts(ends, intN(total)+1)].random(now, intN, visit) {
			return
		}
	}
}

// random visits the first entry at or after a random slot, if one of the next few slots has any.
func (s *Shard) random(now int64, intN func(int) int, visit func(Entry) (more bool)) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := s.index.Slots
	if s.index.Count == 0 {
		return true
	}
	at := intN(len(slots))
	for range min(randomWalk, len(slots)) {
		if slot := slots[at]; slot != 0 {
			r := s.record(uint32(slot))
			if s.expired(r, now) {
				return true
			}
			return visit(s.entry(r))
		}
		at = (at + 1) % len(slots)
	}
	return true
}
