package store

import (
	"maps"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
)

// Snapshot is a store as it was at one instant: its keys, and with [Snapshot.PolicyOps] all the rest.
type Snapshot struct {
	*keyspace.Snapshot
	store    *Store
	policies map[string]*policy // nil until they are copied; under the policies' lock
	rest     []engine.Op        // that recreate the restrictions of new keys, and the shared limiters
}

// Snapshot is [Keyspace.Snapshot] of the whole store.
func (s *Store) Snapshot() *Snapshot {
	f := &Snapshot{Snapshot: s.Keyspace.Snapshot(), store: s}
	s.Admission.RestrictOps(func(op *engine.Op) { f.rest = append(f.rest, op.Clone()) })
	s.scripts.Ops(func(op *engine.Op) { f.rest = append(f.rest, *op) }) // bodies never change
	s.policies.mu.Lock()
	s.policies.snapshot = f
	s.policies.mu.Unlock()
	return f
}

// PolicyOps is [Store.PolicyOps] as at the time of the snapshot.
func (f *Snapshot) PolicyOps(visit func(*engine.Op)) {
	for i := range f.rest {
		visit(&f.rest[i])
	}
	p := &f.store.policies
	p.mu.RLock() // excludes changes of policies, which copy them too
	if p.snapshot == f {
		f.copyPolicies(p)
	}
	p.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(f.policies)) {
		ops := f.policies[name].ops(name)
		for i := range ops {
			visit(&ops[i])
		}
	}
}

// Release is [Snapshot.Release].
func (f *Snapshot) Release() {
	p := &f.store.policies
	p.mu.Lock()
	if p.snapshot == f {
		p.snapshot = nil
	}
	p.mu.Unlock()
	f.Snapshot.Release()
}

// touch copies the policies before they change for the first time since the snapshot. The caller holds their lock.
func (p *policies) touch() {
	if p.snapshot != nil {
		p.snapshot.copyPolicies(p)
	}
}

// copyPolicies keeps the policies there are. Their limits are never changed in place and need no copy.
func (f *Snapshot) copyPolicies(p *policies) {
	f.policies = make(map[string]*policy, len(p.byName))
	for name, known := range p.byName {
		f.policies[name] = &policy{parts: known.parts, shadow: known.shadow, strict: known.strict, overrides: maps.Clone(known.overrides)}
	}
	p.snapshot = nil
}
