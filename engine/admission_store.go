package engine

// NewKeyCounts returns the counts.
func (s *Store) NewKeyCounts() NewKeyCounts {
	r := &s.admission
	f := NewKeyCounts{Denied: r.decisions[DenyNew].Load(), Allowed: r.decisions[AllowNew].Load(), Shared: r.decisions[OverflowNew].Load(), SharedDenied: r.sharedDenied.Load()}
	r.shared.mu.Lock()
	f.Limiters = len(r.shared.limiters)
	r.shared.mu.Unlock()
	if set := r.set.Load(); set != nil {
		f.Keys = len(*set)
	}
	return f
}

// SetRules changes the treatment of new keys beyond the memory bound or a quota, in a store that is not replicated.
func (s *Store) SetRules(r Rules) { s.admission.own.Store(&r) }

// restrictOps calls visit for the operations that recreate the restrictions and shared limiters. It is for snapshots.
func (s *Store) restrictOps(visit func(*Op)) {
	if set := s.admission.set.Load(); set != nil {
		for _, x := range *set {
			visit(&Op{Verb: Restrict, NewKeys: x.NewKeys, Key: []byte(x.beginning), Who: []byte(x.Delimiters)})
		}
	}
	s.admission.shared.ops(visit)
}
