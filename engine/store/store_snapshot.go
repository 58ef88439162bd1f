package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/policy"
)

// Snapshot is a store as it was at one instant: its keys, and with [Snapshot.PolicyOps] all the rest.
type Snapshot struct {
	*keyspace.Snapshot
	policies *policy.Snapshot
	rest     []engine.Op // that recreate the scripts, the restrictions of new keys, and the shared limiters
}

// Snapshot is [keyspace.Keyspace.Snapshot] of the whole store.
func (s *Store) Snapshot() *Snapshot {
	f := &Snapshot{Snapshot: s.keys.Snapshot(), policies: s.policies.Snapshot()}
	s.keys.Admission.RestrictOps(func(op *engine.Op) { f.rest = append(f.rest, op.Clone()) })
	s.scripts.Ops(func(op *engine.Op) { f.rest = append(f.rest, *op) }) // bodies never change
	return f
}

// PolicyOps is [Store.PolicyOps] as at the time of the snapshot.
func (f *Snapshot) PolicyOps(visit func(*engine.Op)) {
	for i := range f.rest {
		visit(&f.rest[i])
	}
	f.policies.Ops(visit)
}

// Release is [keyspace.Snapshot.Release].
func (f *Snapshot) Release() {
	f.policies.Release()
	f.Snapshot.Release()
}
