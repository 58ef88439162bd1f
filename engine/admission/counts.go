package admission

import "github.com/stintdb/stint/engine"

// NewKeyCounts returns the counts.
func (r *Admission) NewKeyCounts() NewKeyCounts {
	f := NewKeyCounts{Denied: r.decisions[engine.DenyNew].Load(), Allowed: r.decisions[engine.AllowNew].Load(), Shared: r.decisions[engine.OverflowNew].Load(), SharedDenied: r.sharedDenied.Load()}
	r.Shared.mu.Lock()
	f.Limiters, f.LimiterBytes = len(r.Shared.limiters), r.Shared.bytes
	r.Shared.mu.Unlock()
	if set := r.set.Load(); set != nil {
		f.Keys = len(*set)
	}
	return f
}

// SetRules changes the treatment of new keys beyond the memory bound or a quota, in a store that is not replicated.
func (r *Admission) SetRules(rules Rules) { r.Own.Store(&rules) }

// RestrictOps calls visit for the operations that recreate the restrictions and shared limiters. It is for snapshots.
func (r *Admission) RestrictOps(visit func(*engine.Op)) {
	if set := r.set.Load(); set != nil {
		for _, x := range *set {
			visit(&engine.Op{Verb: engine.Restrict, NewKeys: x.NewKeys, Key: []byte(x.beginning), Who: []byte(x.Delimiters)})
		}
	}
	r.Shared.ops(visit)
}

// Clear lifts all restrictions and forgets the shared limiters.
func (r *Admission) Clear() {
	r.Shared.Clear()
	r.set.Store(nil)
}
