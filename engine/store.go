package engine

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
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
	groups    sync.Pool // of *group
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
		panic("engine: Options.Shards must be a power of two up to 65536")
	}
	s := &Store{seed: maphash.MakeSeed(), shards: make([]shard, n), shift: 64}
	for bits := n; bits > 1; bits /= 2 {
		s.shift--
	}
	s.mem.max.Store(o.MaxBytes)
	s.mem.replicated, s.admission.replicated = o.Replicated, o.Replicated
	s.SetRules(Rules{NewKeys: DenyNew})
	s.mem.buffers.New = func() any { return new([segmentBytes]byte) }
	limits := newLimitTable(&s.mem)
	for i := range s.shards {
		s.shards[i].mem, s.shards[i].index.mem, s.shards[i].limits = &s.mem, &s.mem, limits
		s.shards[i].admission = &s.admission
		s.shards[i].number, s.shards[i].changes = uint32(i), &s.changes
	}
	s.policies.byName, s.policies.checks, s.policies.store = map[string]*policy{}, map[string]*checkCounts{}, &s.changes
	s.changes.dirty = make([]atomic.Uint64, (n+63)/64)
	s.calls.New = func() any { return new(call) }
	s.groups.New = func() any { return new(acquireAllCall) }
	s.txs.New = func() any { return new(Tx) }
	s.commands, s.publish = o.Commands, o.Publish
	s.loads.New = func() any { return new(loading) }
	return s
}

// limits is the table of limits, which all shards share.
func (s *Store) limits() *limitTable { return s.shards[0].limits }

func (s *Store) shardOf(hash uint64) uint64 { return hash >> s.shift & uint64(len(s.shards)-1) }

// Apply carries out ops in order at one instant and answers ops[i] in results[i], each atomically.
// now is nanoseconds since the Unix epoch.
func (s *Store) Apply(now int64, ops []Op, results []Result) { s.apply(now, ops, results, false) }

// ApplyAtomic is Apply with every shard the ops touch locked throughout, so that nothing comes between them.
func (s *Store) ApplyAtomic(now int64, ops []Op, results []Result) {
	shards := s.lock(s.shardsOf(ops))
	defer s.unlock(shards)
	s.apply(now, ops, results, true)
}

// shardsOf lists the shards that ops touch, some perhaps twice; all of them where that shows only later.
func (s *Store) shardsOf(ops []Op) (numbers []uint32) {
	add := func(key []byte) {
		sh, _ := s.locate(key)
		numbers = append(numbers, sh.number)
	}
	for i := range ops {
		switch ops[i].Verb {
		case Flush, Check, Script, Reserve, Settle:
			return s.appendAllShards(numbers[:0])
		case AcquireAll:
			for j := range ops[i].Parts {
				add(ops[i].Parts[j].Key)
			}
		case Command:
			numbers = s.appendShards(numbers, &ops[i])
		default:
			add(ops[i].Key)
		}
	}
	return numbers
}

// appendAllShards appends the numbers of all shards.
func (s *Store) appendAllShards(numbers []uint32) []uint32 {
	for i := range s.shards {
		numbers = append(numbers, s.shards[i].number)
	}
	return numbers
}

func (s *Store) apply(now int64, ops []Op, results []Result, locked bool) {
	c := s.calls.Get().(*call)
	defer s.calls.Put(c)
	c.listed = 0
	for i := 0; i < len(ops); i++ {
		op, res := &ops[i], &results[i]
		if !op.Verb.HasOneKey() {
			if n := s.applyRequests(now, ops[i:], results[i:], locked); n > 0 {
				i += n - 1
				continue
			}
			s.applyWide(now, op, res, locked)
			continue
		}
		if !locked && i+1 < len(ops) {
			if n := s.applyGroup(c, now, ops[i:], results[i:]); n > 0 {
				i += n - 1
				continue
			}
		}
		sh, tag := s.locate(op.Key)
		if locked {
			sh.apply(c, now, tag, op, res)
			continue
		}
		sh.mu.Lock()
		sh.apply(c, now, tag, op, res)
		sh.mu.Unlock()
	}
}

func (s *Store) applyWide(now int64, op *Op, res *Result, locked bool) {
	switch op.Verb {
	case AcquireAll, Check, Reserve, Settle:
		s.applySeveral(now, op, res, locked, false)
		return
	case Command, Script:
		s.run(now, op, res, locked, false)
		return
	}
	res.Clear()
	switch op.Verb {
	case Flush:
		s.flush(now, locked)
	case SetPolicy:
		s.policies.set(op, res)
	case DropPolicy:
		s.policies.drop(op, res)
	case SetOverride:
		s.policies.override(op, res)
	case Restrict:
		s.admission.restrict(op, res)
	case KeepScript, DropScripts:
		s.applyScripts(op, res)
	case KeepOverflow:
		s.admission.shared.load(now, op, res)
	}
}

// flush empties the store, with every shard locked, so that a journal can order it among the other changes. Policies
// stay: they are settings, not counts.
// So do the loans, whose tokens may still be spent, and tanks.
func (s *Store) flush(now int64, locked bool) {
	for i := range s.shards {
		if !locked {
			s.shards[i].mu.Lock()
		}
	}
	lent := make([][]lentRecord, len(s.shards))
	for i := range s.shards {
		lent[i] = append(s.shards[i].lentRecords(s, now), s.shards[i].tankRecords(s)...)
		s.shards[i].free()
		s.shards[i].gone = nil
	}
	s.admission.shared.clear()
	if s.changes.on.Load() { // recovery flushes too, and that is no new change
		s.changes.flushes.Add(1)
	}
	for i := range lent {
		s.shards[i].putBack(s, now, lent[i])
	}
	for i := range s.shards {
		if !locked {
			s.shards[i].mu.Unlock()
		}
	}
}

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

// Clear empties the store, its policies included, as if it were new. Nothing is noted as changed. It is for replacing the
// state by another's and must not be called while operations are applied.
func (s *Store) Clear() {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.free()
		sh.gone = nil
		sh.mu.Unlock()
	}
	s.admission.shared.clear()
	s.admission.set.Store(nil)
	s.scripts.clear()
	s.policies.mu.Lock()
	defer s.policies.mu.Unlock()
	s.policies.touch()
	s.policies.byName, s.policies.overrides, s.policies.bytes = map[string]*policy{}, 0, 0
	s.policies.strict.Store(0)
}
