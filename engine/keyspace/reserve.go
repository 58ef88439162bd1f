package keyspace

import "github.com/stintdb/stint/engine/internal/tagindex"

// Reserve makes room in the indexes for about this number of further entries, whose records take bytes in all, so that
// loading them does not grow the indexes step by step. Where the memory bound does not allow it for all shards, it
// makes none: the first ones would have the memory that the last ones need. It is for recovery.
func (s *Keyspace) Reserve(entries, bytes int) {
	if !s.memory.allows(int64(bytes)/4*7+tagindex.BytesFor(entries/4*7), true) { // with the room to grow that a shard adds
		return
	}
	spread := (entries+entries/8)/len(s.shards) + minEntries // shards are not equally full
	s.each(func(sh *Shard) { growth{&sh.table, true, false}.growIndex(spread) })
}
