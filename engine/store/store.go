package store

import (
	"sync"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/engine/request"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/transaction"
)

// Store keeps the state of every limited key, and the policies, and decides operations on them. It is safe for
// concurrent use: keys are spread over shards by a keyed hash, each shard with its own lock. Create one with [New].
type Store struct {
	OwnTimes *transaction.OwnTimes // of commands on data and of scripts

	keys     keyspace.Keyspace
	policies *policy.Policies
	policySum
	changesPolicies sync.Mutex // held while policies change, from the first to the last change of an atomic batch
	requests        *request.Runner
	transactions    *transaction.Runner
	scripts         scriptcache.Cache
	trace           func(now int64, ops []engine.Op, results []engine.Result)
	traceBeside     func(now int64, ops []engine.Op, results []engine.Result)
}

// Config configures a store.
type Config struct {
	MaxBytes int64 // bound on the memory of entries, 0 for none
	// Replicated says that replicas must decide alike: operations alone refuse new keys, not the store's own memory.
	Replicated bool
	Commands   transaction.Commands // carries out Command and Script operations; nil if there are none
	// Publish is given the messages of [transaction.Tx.Publish], in order for each key, while the keys of the transaction
	// are locked: it must not wait, nor use the store. It may keep the message. It returns the number of receivers, which
	// [engine.Result.Remaining] counts and which may differ from one replica to the next. Nil if nobody receives any.
	Publish func(channel, text []byte) (receivers int)
	Changed func(key []byte)        // see [keyspace.Config]
	Warned  func(w *engine.Warning) // see [keyspace.Config]
	// Owns reports whether a key may be in the store; nil if every key may. It is asked for the keys of a policy, which no
	// operation states: a check with others is answered with [engine.CrossSlot].
	Owns   func(key []byte) bool
	Shards int // a power of two up to 65536; 0 for the default of 1024
	// Trace is given all operations that were applied, with their results, and nil once the state is replaced. It must not
	// keep them. Nil except in tests.
	Trace func(now int64, ops []engine.Op, results []engine.Result)
	// TraceBeside is the Trace of the stores that [Store.Beside] returns, with the requests that take their allowances.
	TraceBeside func(now int64, ops []engine.Op, results []engine.Result)
}

// Beside returns an empty store of which [Store.Hash] is the same.
func (s *Store) Beside(o Config) *Store {
	o.Trace = s.traceBeside
	return newBeside(&s.keys, o)
}

// New returns an empty store.
func New(o Config) *Store { return newBeside(nil, o) }

func newBeside(other *keyspace.Keyspace, o Config) *Store {
	s := &Store{trace: o.Trace, traceBeside: o.TraceBeside}
	s.keys.Init(keyspace.Config{
		MaxBytes: o.MaxBytes, Replicated: o.Replicated, Shards: o.Shards, Beside: other,
		Owns: o.Owns, Changed: o.Changed, Warned: o.Warned,
	})
	s.policies = policy.New(s.keys.JournalNotes())
	s.policySum.policies = s.policies
	s.requests = request.New(&s.keys, s.policies, o.Owns)
	s.transactions = transaction.New(&s.keys, &s.scripts, transaction.Config{
		Commands: o.Commands, Publish: o.Publish, Warned: o.Warned, Note: s.policies.NoteOther,
	})
	s.OwnTimes = &s.transactions.OwnTimes
	KeepLarge(s, !o.Replicated)
	LendToMany(s, !o.Replicated)
	return s
}

// KeepLarge says whether the store puts large values into blocks. A store that is not replicated always does. Replicas
// begin with the same operation: one that does not would have other values, and other errors.
func KeepLarge(s *Store, on bool) { s.transactions.KeepLarge(on) }

// LendToMany says whether a key has up to [layout.MaxLoans] holders, and not only [layout.FewLoans]. A store that is not
// replicated always lends to so many. Replicas begin with the same operation.
func LendToMany(s *Store, on bool) { s.keys.LendsToMany.Store(on) }
