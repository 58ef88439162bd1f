package engine

// Reserve makes room for about this number of further entries, whose records take bytes in all, so that loading them does
// not grow the tables step by step. Where the memory bound does not allow it for all shards, it makes none: the first
// ones would have the memory that the last ones need. It is for recovery.
func (s *Store) Reserve(now int64, entries, bytes int) {
	if !s.mem.allows(int64(bytes)/4*7+indexBytes(entries/4*7), true) { // with the room to grow that a rebuild adds
		return
	}
	spread := func(n int) int { return (n + n/8) / len(s.shards) } // shards are not equally full
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.rebuild(now, spread(entries)+minEntries, spread(bytes)+minArena)
		sh.fullUntil = 0 // entries that come may still fit
		sh.mu.Unlock()
	}
}
