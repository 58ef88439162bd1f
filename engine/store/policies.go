package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/policy"
)

// The policies of a store. What visits a policy must not call the store.

// PolicyNames is [policy.Policies.Names].
func (s *Store) PolicyNames() []string { return s.policies.Names() }

// Policy is [policy.Policies.Find].
func (s *Store) Policy(name string) (policy.Policy, bool) { return s.policies.Find(name) }

// PolicyOf is [policy.Policies.Of].
func (s *Store) PolicyOf(name string, id []byte) (policy.Policy, bool) {
	return s.policies.Of(name, id)
}

// PolicyCounts is [policy.Policies.Counts].
func (s *Store) PolicyCounts(visit func(policy.Policy)) { s.policies.Counts(visit) }

// CountCheck is [policy.Policies.CountCheck].
func (s *Store) CountCheck(name []byte, res *engine.Result) { s.policies.CountCheck(name, res) }

// Overridden is [policy.Policies.Overridden].
func (s *Store) Overridden(name string, visit func(id string)) { s.policies.Overridden(name, visit) }

// PolicyTemplates is [policy.Policies.Templates].
func (s *Store) PolicyTemplates(name string, visit func(key []byte) (more bool)) (found bool) {
	return s.policies.Templates(name, visit)
}

// PolicyKeys is [policy.Policies.Keys].
func (s *Store) PolicyKeys(name, id []byte, fields [][]byte, visit func(key []byte) (more bool)) (found bool) {
	return s.policies.Keys(name, id, fields, visit)
}

// AppendPolicyKey is [policy.Policies.AppendKey].
func (s *Store) AppendPolicyKey(b, name, id []byte, fields [][]byte, part int) []byte {
	return s.policies.AppendKey(b, name, id, fields, part)
}

// PresentPolicy is [policy.Policies.Present].
func (s *Store) PresentPolicy(op *engine.Op) []engine.Op { return s.policies.Present(op) }

// IsStrict is [policy.Policies.IsStrict].
func (s *Store) IsStrict(op *engine.Op) bool { return s.policies.IsStrict(op) }

// Asked returns the limits that an AcquireAll or a Check asks now, or those of the reservation of an Extend or a Settle,
// as operations on their keys.
func (s *Store) Asked(op *engine.Op) []engine.Op {
	switch op.Verb {
	case engine.Check:
		return s.policies.Asked(op)
	case engine.Extend, engine.Settle:
		return s.requests.Reserved(op.Key)
	}
	return op.Parts
}

// ScriptCount is the number of scripts that are kept.
func (s *Store) ScriptCount() int { return s.scripts.Len() }

// PolicyOps calls visit for the operations that restore all state except the entries: policies, scripts, restrictions
// of new keys, and shared limiters. It is for snapshots.
func (s *Store) PolicyOps(visit func(*engine.Op)) {
	s.keys.Admission.RestrictOps(visit)
	s.scripts.Ops(visit)
	s.policies.Ops(visit)
}
