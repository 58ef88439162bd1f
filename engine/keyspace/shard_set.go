package keyspace

import (
	"hash/maphash"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/internal/limitset"
)

// shardSet is the shards of a keyspace, and which of them a key belongs to.
type shardSet struct {
	seed   maphash.Seed
	shards []Shard
	shift  uint // hash bits above the shard's number
}

// Locate returns a key's shard and tag.
func (s *shardSet) Locate(key []byte) (*Shard, uint32) {
	h := maphash.Bytes(s.seed, key)
	return &s.shards[s.shardOf(h)], uint32(h)
}

// MayBeLarge reports whether a declared key of an operation on data may take more than 64 KiB: another key of its shard
// does, or it does itself. With seeks, it reports whether it may take long to find or change a few elements, because one
// has more than 1 KiB, or all together are not in blocks. No key is looked up.
func (s *shardSet) MayBeLarge(op *engine.Op, seeks bool) bool {
	large := &s.shards[0].mem.large
	if !large.Any() || seeks && !large.AnyLong() {
		return false
	}
	var names database.Room
	for _, key := range op.DeclaredKeys() {
		_, number, _ := s.LocateNumber(names.NameOf(op.Database, key))
		if any, long := large.Of(number); long || any && !seeks {
			return true
		}
	}
	return false
}

// LocateNumber is Locate that returns the number of the shard, too, without reading the shard.
func (s *shardSet) LocateNumber(key []byte) (shard *Shard, number, tag uint32) {
	h := maphash.Bytes(s.seed, key)
	n := s.shardOf(h)
	return &s.shards[n], uint32(n), uint32(h)
}

// ShardAt is the shard of a number from 0 to below [Keyspace.Shards].
func (s *shardSet) ShardAt(number uint32) *Shard { return &s.shards[number] }

func (s *shardSet) shardOf(hash uint64) uint64 { return hash >> s.shift & uint64(len(s.shards)-1) }

// Lock sorts the numbers of shards and locks each of them once. Ascending order is the lock order of the store.
func (s *shardSet) Lock(order []uint32) []uint32 {
	if len(order) > 1 {
		slices.Sort(order)
		order = slices.Compact(order)
	}
	for _, n := range order {
		s.shards[n].mu.Lock()
	}
	return order
}

// LockOthers is Lock while the caller holds the first of the shards. It returns nil, with no other one locked, if another
// goroutine holds one of them: to wait for it could be a deadlock.
func (s *shardSet) LockOthers(order []uint32) []uint32 {
	held := order[:1]
	for _, n := range order[1:] {
		switch {
		case slices.Contains(held, n):
		case s.shards[n].mu.TryLock():
			held = append(held, n)
		default:
			s.Unlock(held[1:])
			return nil
		}
	}
	return held
}

// each visits every shard, locked.
func (s *shardSet) each(visit func(*Shard)) {
	for i := range s.shards {
		s.shards[i].mu.Lock()
		visit(&s.shards[i])
		s.shards[i].mu.Unlock()
	}
}

func (s *shardSet) lockAll() {
	for i := range s.shards {
		s.shards[i].mu.Lock()
	}
}

func (s *shardSet) unlockAll() {
	for i := range s.shards {
		s.shards[i].mu.Unlock()
	}
}

// Instant returns the time at which an operation on several shards is decided, which are locked: now, or the time of
// the last operation that could change keys of any of them, whichever is later.
func (s *shardSet) Instant(order []uint32, now int64, writes bool) int64 {
	for range min(len(order), 2) { // the second time they all have the latest
		for _, n := range order {
			now = s.shards[n].latest.instant(now, writes)
		}
	}
	return now
}

// Unlock unlocks what Lock returned.
func (s *shardSet) Unlock(order []uint32) {
	for _, n := range order {
		s.shards[n].mu.Unlock()
	}
}

// AppendAllShards appends the numbers of all shards.
func (s *shardSet) AppendAllShards(numbers []uint32) []uint32 {
	for i := range s.shards {
		numbers = append(numbers, s.shards[i].Number)
	}
	return numbers
}

// Len counts the keys; expired ones that have not been dropped yet are included.
func (s *shardSet) Len() int {
	n := 0
	s.each(func(sh *Shard) { n += sh.index.Count })
	return n
}

// IdleBytes is the part of Bytes that lies in records of keys that were dropped or moved, and will be won back.
func (s *shardSet) IdleBytes() (bytes int64) {
	s.each(func(sh *Shard) {
		_, _, dead := sh.arena.Totals()
		bytes += int64(dead)
	})
	return bytes
}

// limits is the table of limits, which all shards share.
func (s *shardSet) limits() *limitset.Table { return s.shards[0].limits }

// Shards is the number of parts in which [Store.ScanLoans] looks at the keys.
func (s *shardSet) Shards() int { return len(s.shards) }

// Hash is a hash of a key that others cannot foresee.
func (s *shardSet) Hash(key []byte) uint64 { return maphash.Bytes(s.seed, key) }
