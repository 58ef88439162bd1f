package store

import "github.com/stintdb/stint/engine"

// NewKeyCounts returns the counts.
func (r *admission) NewKeyCounts() NewKeyCounts {
	f := NewKeyCounts{Denied: r.decisions[engine.DenyNew].Load(), Allowed: r.decisions[engine.AllowNew].Load(), Shared: r.decisions[engine.OverflowNew].Load(), SharedDenied: r.sharedDenied.Load()}
	r.shared.mu.Lock()
	f.Limiters, f.LimiterBytes = len(r.shared.limiters), r.shared.bytes
	r.shared.mu.Unlock()
	if set := r.set.Load(); set != nil {
		f.Keys = len(*set)
	}
	return f
}

// SetRules changes the treatment of new keys beyond the memory bound or a quota, in a store that is not replicated.
func (r *admission) SetRules(rules Rules) { r.own.Store(&rules) }

// restrictOps calls visit for the operations that recreate the restrictions and shared limiters. It is for snapshots.
func (r *admission) restrictOps(visit func(*engine.Op)) {
	if set := r.set.Load(); set != nil {
		for _, x := range *set {
			visit(&engine.Op{Verb: engine.Restrict, NewKeys: x.NewKeys, Key: []byte(x.beginning), Who: []byte(x.Delimiters)})
		}
	}
	r.shared.ops(visit)
}

// clear lifts all restrictions and forgets the shared limiters.
func (r *admission) clear() {
	r.shared.clear()
	r.set.Store(nil)
}
