package engine

// Reserve makes room for about so many more entries whose records take so many bytes in all, where the memory bound
// allows it, so that loading them does not grow the tables step by step. It is for recovery.
func (s *Store) Reserve(now int64, entries, bytes int) {
	spread := func(n int) int { return (n + n/8) / len(s.shards) } // shards are not equally full
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.rebuild(now, spread(entries)+minEntries, spread(bytes)+minArena)
		sh.mu.Unlock()
	}
}
