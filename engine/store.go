package engine

import (
	"hash/maphash"
	"sync"
)

// Store keeps the state of every limited key and decides operations on them. It is safe for concurrent use: keys are
// spread over shards by a keyed hash, each shard with a lock of its own. Create one with [New].
type Store struct {
	seed   maphash.Seed
	shards []shard
	shift  uint // hash bits above the shard's number
	mem    memory

	sweepMu sync.Mutex
	sweepAt uint64 // cursor of the next Sweep
}

// Options are what a store is made with.
type Options struct {
	MaxBytes int64 // bound on the memory of entries, 0 for none
	Shards   int   // a power of two up to 65536; 0 for the default of 1024
}

const defaultShards = 1024

// New returns an empty store.
func New(o Options) *Store {
	n := o.Shards
	if n == 0 {
		n = defaultShards
	}
	if n < 1 || n > 1<<16 || n&(n-1) != 0 {
		panic("engine: Options.Shards must be a power of two up to 65536")
	}
	s := &Store{seed: maphash.MakeSeed(), shards: make([]shard, n), shift: 64}
	for bits := n; bits > 1; bits /= 2 {
		s.shift--
	}
	s.mem.max.Store(o.MaxBytes)
	for i := range s.shards {
		s.shards[i].mem, s.shards[i].index.mem, s.shards[i].limits.mem = &s.mem, &s.mem, &s.mem
	}
	return s
}

func (s *Store) locate(key []byte) (*shard, uint32) {
	h := maphash.Bytes(s.seed, key)
	return &s.shards[s.shardOf(h)], uint32(h)
}

func (s *Store) shardOf(hash uint64) uint64 { return hash >> s.shift & uint64(len(s.shards)-1) }

// Apply carries out ops in order at one instant and answers ops[i] in results[i], each atomic by itself.
// now is nanoseconds since the Unix epoch.
func (s *Store) Apply(now int64, ops []Op, results []Result) {
	for i := range ops {
		op := &ops[i]
		if op.Verb == Flush {
			s.flush()
			results[i] = Result{Status: OK}
			continue
		}
		sh, tag := s.locate(op.Key)
		sh.mu.Lock()
		sh.apply(now, tag, op, &results[i])
		sh.mu.Unlock()
	}
}

// ApplyAtomic is Apply with every shard the ops touch locked throughout, so that nothing comes between them.
func (s *Store) ApplyAtomic(now int64, ops []Op, results []Result) {
	unlock := s.lockAll(ops)
	defer unlock()
	for i := range ops {
		op := &ops[i]
		if op.Verb == Flush {
			for j := range s.shards {
				s.shards[j].free()
			}
			results[i] = Result{Status: OK}
			continue
		}
		sh, tag := s.locate(op.Key)
		sh.apply(now, tag, op, &results[i])
	}
}

// lockAll locks the shards of ops in ascending order, which is the lock order of the store.
func (s *Store) lockAll(ops []Op) (unlock func()) {
	wanted := make([]bool, len(s.shards))
	for i := range ops {
		if ops[i].Verb == Flush {
			for j := range wanted {
				wanted[j] = true
			}
			break
		}
		wanted[s.shardOf(maphash.Bytes(s.seed, ops[i].Key))] = true
	}
	for i := range wanted {
		if wanted[i] {
			s.shards[i].mu.Lock()
		}
	}
	return func() {
		for i := range wanted {
			if wanted[i] {
				s.shards[i].mu.Unlock()
			}
		}
	}
}

// flush empties the store, one shard after the other.
func (s *Store) flush() {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.free()
		sh.mu.Unlock()
	}
}

// Close gives the store's memory back to the system. The store must not be used afterwards.
func (s *Store) Close() { s.flush() }

// Len counts the keys; those as good as new that have not been dropped yet are included.
func (s *Store) Len() int {
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
func (s *Store) Bytes() int64 { return s.mem.used.Load() }

// SetMaxBytes changes the bound on the memory of entries; 0 is none. Keys already there stay.
func (s *Store) SetMaxBytes(bytes int64) { s.mem.max.Store(bytes) }
