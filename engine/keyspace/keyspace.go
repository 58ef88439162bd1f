package keyspace

import (
	"github.com/stintdb/stint/engine/internal/arena"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/internal/limitset"
)

// Keyspace is keys with their states, in shards that are locked one by one. Its methods may be called from any
// goroutine.
type Keyspace struct {
	shardSet
	memory
	Admission admission.Admission
	changes   Changes
	snapshot  atomic.Pointer[Snapshot]
	Calls     sync.Pool // of *algorithm.Call, the scratch of operations on one key
	loads     sync.Pool // of *loading

	sweepMu sync.Mutex
	sweepAt uint64 // cursor of the next Sweep
}

const defaultShards = 1024

// Config configures a keyspace.
type Config struct {
	MaxBytes   int64                 // bound on the memory of entries, 0 for none
	Replicated bool                  // new keys are refused by operations only, never for the keyspace's own memory
	Shards     int                   // a power of two up to 65536; 0 for the default of 1024
	Beside     *Keyspace             // one of the same shards and hashes, or nil
	Owns       func(key []byte) bool // keys may be here otherwise than as purses; nil for all
	// Changed receives each key that is written, deleted or dropped as expired, and nil for all keys at once, while
	// [Keyspace.Observe] is on. The key's shard is locked during the call, which must not wait, use the keyspace or keep
	// the key.
	Changed func(key []byte)
	Warned  func(w *engine.Warning) // receives each warning once it is noted in the state, as Changed receives keys; nil for nobody
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
		panic("keyspace: Config.Shards must be a power of two up to 65536")
	}
	s.shards = make([]Shard, n)
	s.memory.large.Init(n)
	s.shift = 64
	for bits := n; bits > 1; bits /= 2 {
		s.shift--
	}
	s.memory.max.Store(o.MaxBytes)
	s.memory.replicated = o.Replicated
	s.CountBy(o.Owns)
	s.Admission.Init(o.Replicated)
	s.memory.buffers.New = func() any { return new([arena.SegmentBytes]byte) }
	limits := limitset.New(&s.memory.used, &s.memory.snapshotBytes)
	for i := range s.shards {
		s.shards[i].mem, s.shards[i].limits = &s.memory, limits
		s.shards[i].admission = &s.Admission
		s.shards[i].Number, s.shards[i].changes = uint32(i), &s.changes
	}
	s.changes.changed, s.changes.warned = o.Changed, o.Warned
	s.changes.dirty = make([]atomic.Uint64, (n+63)/64)
	s.Calls.New = func() any { return new(algorithm.Call) }
	s.loads.New = func() any { return new(loading) }
}

// JournalNotes are the notes that [Keyspace.TakeChanges] reads, for changes that are not of a key.
func (s *Keyspace) JournalNotes() *Changes { return &s.changes }

// Close gives the store's memory back to the system. The store must not be used afterwards.
func (s *Keyspace) Close() {
	s.each(func(sh *Shard) { sh.free() })
	s.Admission.Shared.Clear()
}
