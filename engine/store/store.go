package store

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// Store keeps the state of every limited key, and the policies, and decides operations on them. It is safe for
// concurrent use: keys are spread over shards by a keyed hash, each shard with its own lock. Create one with [New].
type Store struct {
	seed      maphash.Seed
	shards    []shard
	shift     uint // hash bits above the shard's number
	mem       memory
	policies  policies
	admission admission
	changes   changes
	snapshot  atomic.Pointer[Snapshot]
	calls     sync.Pool // of *call, the scratch of operations on one key
	groups    sync.Pool // of *acquireAllCall
	loads     sync.Pool // of *loading
	txs       sync.Pool // of *Tx
	commands  Commands
	scripts   scripts
	publish   func(channel, text []byte) (receivers int)

	sweepMu sync.Mutex
	sweepAt uint64 // cursor of the next Sweep
}

// Config configures a store.
type Config struct {
	MaxBytes   int64    // bound on the memory of entries, 0 for none
	Replicated bool     // new keys are refused by operations only, never for the store's own memory: for replicas, which must decide alike
	Commands   Commands // carries out Command and Script operations; nil if there are none
	// Publish is given the messages of [Tx.Publish], in order for each key, while the keys of the transaction are locked: it must
	// not wait, nor use the store. It may keep the message. It returns the number of receivers, which [Result.Remaining]
	// counts and which may differ from one replica to the next. Nil if nobody receives any.
	Publish func(channel, text []byte) (receivers int)
	Shards  int // a power of two up to 65536; 0 for the default of 1024
}

const defaultShards = 1024

// New returns an empty store.
func New(o Config) *Store {
	n := o.Shards
	if n == 0 {
		n = defaultShards
	}
	if n < 1 || n > 1<<16 || n&(n-1) != 0 {
		panic("store: Config.Shards must be a power of two up to 65536")
	}
	s := &Store{seed: maphash.MakeSeed(), shards: make([]shard, n), shift: 64}
	for bits := n; bits > 1; bits /= 2 {
		s.shift--
	}
	s.mem.max.Store(o.MaxBytes)
	s.mem.replicated, s.admission.replicated = o.Replicated, o.Replicated
	s.SetRules(Rules{NewKeys: engine.DenyNew})
	s.mem.buffers.New = func() any { return new([segmentBytes]byte) }
	limits := newLimitTable(&s.mem)
	for i := range s.shards {
		s.shards[i].mem, s.shards[i].index.mem, s.shards[i].limits = &s.mem, &s.mem, limits
		s.shards[i].admission = &s.admission
		s.shards[i].number, s.shards[i].changes = uint32(i), &s.changes
	}
	s.policies.byName, s.policies.checks, s.policies.store = map[string]*policy{}, map[string]*checkCounts{}, &s.changes
	s.changes.dirty = make([]atomic.Uint64, (n+63)/64)
	s.calls.New = func() any { return new(algorithm.Call) }
	s.groups.New = func() any { return new(acquireAllCall) }
	s.txs.New = func() any { return new(Tx) }
	s.commands, s.publish = o.Commands, o.Publish
	s.loads.New = func() any { return new(loading) }
	return s
}

// limits is the table of limits, which all shards share.
func (s *Store) limits() *limitTable { return s.shards[0].limits }

func (s *Store) shardOf(hash uint64) uint64 { return hash >> s.shift & uint64(len(s.shards)-1) }

// Close gives the store's memory back to the system. The store must not be used afterwards.
func (s *Store) Close() {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.free()
		sh.mu.Unlock()
	}
	s.admission.shared.clear()
}

// locate returns a key's shard and tag.
func (s *Store) locate(key []byte) (*shard, uint32) {
	h := maphash.Bytes(s.seed, key)
	return &s.shards[s.shardOf(h)], uint32(h)
}

// Len counts the keys; expired ones that have not been dropped yet are included.
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

// ReservedBytes is the part of the bound that is reserved for the logs and leases of existing keys: their growth up to
// their limits, but at most an eighth of the bound.
func (s *Store) ReservedBytes() int64 { return s.mem.reserve() }

// IdleBytes is the part of Bytes that lies in records of keys that were dropped or moved, and will be won back.
func (s *Store) IdleBytes() (bytes int64) {
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
func (s *Store) SetMaxBytes(bytes int64) { s.mem.max.Store(bytes) }
