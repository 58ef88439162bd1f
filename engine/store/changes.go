package store

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
)

// Changes calls visit for everything that changed since the last call, once for each key, and forgets it. A key's
// deletion comes before a state it was given afterwards. visit runs under a shard's lock: it must be quick and must not
// call the store. complete is false if something deleted could not be noted: then a snapshot is needed. Calls must not
// overlap.
func (s *Store) Changes(now int64, visit func(keyspace.Change)) (complete bool) {
	complete, _ = s.changesUpTo(math.MaxInt, now, visit)
	return complete
}

// LargeState is the largest state in bytes that [Store.SmallChanges] reports.
const LargeState = 64 << 10

// SmallChanges is [Store.Changes] without states of more than [LargeState] bytes: these stay noted, and left reports
// that there are some.
func (s *Store) SmallChanges(now int64, visit func(keyspace.Change)) (complete, left bool) {
	return s.changesUpTo(LargeState, now, visit)
}

func (s *Store) changesUpTo(stateBytes int, now int64, visit func(keyspace.Change)) (complete, left bool) {
	s.policies.TakeChanges(func(op *engine.Op) { visit(keyspace.Change{Kind: keyspace.PolicyChanged, Op: op}) })
	return s.keys.TakeChanges(stateBytes, now, visit)
}

// HasChanges reports whether Changes would find any.
func (s *Store) HasChanges() bool { return s.keys.HasChanges() || s.policies.HasChanges() }
