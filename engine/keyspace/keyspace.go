package keyspace

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/algorithm"
)

// Keyspace is keys with their states, in shards that are locked one by one. Its methods may be called from any goroutine.
type Keyspace struct {
	seed      maphash.Seed
	shards    []Shard
	shift     uint // hash bits above the shard's number
	mem       memory
	Admission admission.Admission
	changes   Changes
	snapshot  atomic.Pointer[Snapshot]
	calls     sync.Pool // of *algorithm.Call, the scratch of operations on one key
	loads     sync.Pool // of *loading

	sweepMu sync.Mutex
	sweepAt uint64 // cursor of the next Sweep
}

const defaultShards = 1024

// Config configures a keyspace.
type Config struct {
	MaxBytes   int64     // bound on the memory of entries, 0 for none
	Replicated bool      // new keys are refused by operations only, never for the keyspace's own memory
	Shards     int       // a power of two up to 65536; 0 for the default of 1024
	Beside     *Keyspace // one of the same shards and hashes, or nil
}

// Init makes an empty keyspace of the zero value.
func (s *Keyspace) Init(o Config) {
	n := o.Shards
	if s.seed = maphash.MakeSeed(); o.Beside != nil {
		s.seed, n = o.Beside.seed, len(o.Beside.shards)
	}
	if n == 0 {
		n = defaultShards
	}
	if n < 1 || n > 1<<16 || n&(n-1) != 0 {
		panic("store: Config.Shards must be a power of two up to 65536")
	}
	s.shards = make([]Shard, n)
	s.shift = 64
	for bits := n; bits > 1; bits /= 2 {
		s.shift--
	}
	s.mem.max.Store(o.MaxBytes)
	s.mem.replicated = o.Replicated
	s.Admission.Init(o.Replicated)
	s.mem.buffers.New = func() any { return new([segmentBytes]byte) }
	limits := newLimitTable(&s.mem)
	for i := range s.shards {
		s.shards[i].mem, s.shards[i].index.mem, s.shards[i].limits = &s.mem, &s.mem, limits
		s.shards[i].admission = &s.Admission
		s.shards[i].Number, s.shards[i].changes = uint32(i), &s.changes
	}
	s.changes.dirty = make([]atomic.Uint64, (n+63)/64)
	s.calls.New = func() any { return new(algorithm.Call) }
	s.loads.New = func() any { return new(loading) }
}

// AppendAllShards appends the numbers of all shards.
func (s *Keyspace) AppendAllShards(numbers []uint32) []uint32 {
	for i := range s.shards {
		numbers = append(numbers, s.shards[i].Number)
	}
	return numbers
}

// Lock sorts the numbers of shards and locks each of them once. Ascending order is the lock order of the store.
func (s *Keyspace) Lock(order []uint32) []uint32 {
	slices.Sort(order)
	order = slices.Compact(order)
	for _, n := range order {
		s.shards[n].mu.Lock()
	}
	return order
}

// Unlock unlocks what Lock returned.
// Unlock unlocks what Lock returned.
func (s *Keyspace) Unlock(order []uint32) {
	for _, n := range order {
		s.shards[n].mu.Unlock()
	}
}

// ShardAt is the shard of a number from 0 to below [Keyspace.Shards].
func (s *Keyspace) ShardAt(number uint32) *Shard { return &s.shards[number] }

// IsReplicated reports whether operations alone decide on new keys.
func (s *Keyspace) IsReplicated() bool { return s.mem.replicated }

// JournalNotes is what is noted for the journal.
func (s *Keyspace) JournalNotes() *Changes { return &s.changes }

// limits is the table of limits, which all shards share.
func (s *Keyspace) limits() *limitTable { return s.shards[0].limits }

func (s *Keyspace) shardOf(hash uint64) uint64 { return hash >> s.shift & uint64(len(s.shards)-1) }

// Close gives the store's memory back to the system. The store must not be used afterwards.
func (s *Keyspace) Close() {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.free()
		sh.mu.Unlock()
	}
	s.Admission.Shared.Clear()
}

// Locate returns a key's shard and tag.
func (s *Keyspace) Locate(key []byte) (*Shard, uint32) {
	h := maphash.Bytes(s.seed, key)
	return &s.shards[s.shardOf(h)], uint32(h)
}

// Len counts the keys; expired ones that have not been dropped yet are included.
func (s *Keyspace) Len() int {
	n := 0
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		n += sh.index.count
		sh.mu.Unlock()
	}
	return n
}

// Bytes is the memory of all entries, tables and room to grow included.
func (s *Keyspace) Bytes() int64 { return s.mem.used.Load() }

// ReservedBytes is the part of the bound that is reserved for the logs and leases of existing keys: their growth up to
// their limits, but at most an eighth of the bound.
func (s *Keyspace) ReservedBytes() int64 { return s.mem.reserve() }

// IdleBytes is the part of Bytes that lies in records of keys that were dropped or moved, and will be won back.
func (s *Keyspace) IdleBytes() (bytes int64) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		_, _, dead := sh.arena.totals()
		bytes += int64(dead)
		sh.mu.Unlock()
	}
	return bytes
}

// SetMaxBytes changes the bound on the memory of entries; 0 is none. Keys already there stay.
func (s *Keyspace) SetMaxBytes(bytes int64) { s.mem.max.Store(bytes) }
