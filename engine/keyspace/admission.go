package keyspace

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
)

// SetQuotas replaces the quotas and counts the keys there are. In a store that decides alone, new keys beyond a quota
// are treated as beyond the bound on memory; in a replicated one, quotas only count.
//
// The quotas may be those of several stores, whose keys then count together.
func (s *Keyspace) SetQuotas(q *admission.Quotas) {
	s.each(func(sh *Shard) {
		if sh.quotas = q; q != nil {
			sh.each(func(r record) { q.Add(r.key(), 1) })
		}
	})
	s.Admission.Quotas.Store(q)
}

// QuotaCounts calls visit with each quota and the keys that count for it.
func (s *Keyspace) QuotaCounts(visit func(q admission.Quota, keys int64)) {
	s.Admission.QuotaCounts(visit)
}

// Pressure returns the operations that adapt a replicated store's restrictions to its quotas and, with full, to its
// memory. The decider must apply them on all replicas. It returns none if nothing has to change.
func (s *Keyspace) Pressure(rules admission.Rules, full bool) []engine.Op {
	return s.Admission.Pressure(rules, full)
}

// NewKeyCounts returns the counts of decisions on new keys without room.
func (s *Keyspace) NewKeyCounts() admission.NewKeyCounts { return s.Admission.NewKeyCounts() }

// SetRules changes the treatment of new keys beyond the memory bound or a quota, in a store that is not replicated.
func (s *Keyspace) SetRules(r admission.Rules) { s.Admission.SetRules(r) }
