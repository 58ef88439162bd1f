package engine

import (
	"cmp"
	"maps"
	"slices"
)

// Policy is a policy as it was set, and what it decided since this store was made.
type Policy struct {
	Name      string
	Shadow    bool
	Parts     []Op // Key and Who may hold the Placeholder
	Overrides []Override

	Granted, Denied, ShadowDenied int64
}

// Override is what a policy holds one caller to.
type Override struct {
	ID    string
	Parts []Op
}

func opsOf(parts []part) []Op {
	ops := make([]Op, len(parts))
	for i, p := range parts {
		ops[i] = Op{Limit: p.limit, Key: []byte(p.key.String()), Who: []byte(p.who.String())}
	}
	return ops
}

// PolicyNames lists the policies in the order of their names.
func (s *Store) PolicyNames() []string {
	s.policies.mu.RLock()
	defer s.policies.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.policies.byName))
}

// Policy returns a copy of a policy.
func (s *Store) Policy(name string) (Policy, bool) {
	s.policies.mu.RLock()
	defer s.policies.mu.RUnlock()
	p := s.policies.byName[name]
	if p == nil {
		return Policy{}, false
	}
	return p.copy(name), true
}

func (p *policy) copy(name string) Policy {
	copied := p.counts(name)
	copied.Parts = opsOf(p.parts)
	for id, parts := range p.overrides {
		copied.Overrides = append(copied.Overrides, Override{id, opsOf(parts)})
	}
	slices.SortFunc(copied.Overrides, func(a, b Override) int { return cmp.Compare(a.ID, b.ID) })
	return copied
}

// PolicyCounts calls visit for every policy, without its limits and overrides, in the order of their names.
func (s *Store) PolicyCounts(visit func(Policy)) {
	s.policies.mu.RLock()
	counts := make([]Policy, 0, len(s.policies.byName))
	for name, p := range s.policies.byName {
		counts = append(counts, p.counts(name))
	}
	s.policies.mu.RUnlock()
	slices.SortFunc(counts, func(a, b Policy) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range counts {
		visit(p)
	}
}

func (p *policy) counts(name string) Policy {
	return Policy{Name: name, Shadow: p.shadow,
		Granted: p.granted.Load(), Denied: p.denied.Load(), ShadowDenied: p.shadowDenied.Load()}
}

// For returns the limits that a caller is held to.
func (p *Policy) For(id string) []Op {
	for _, o := range p.Overrides {
		if o.ID == id {
			return o.Parts
		}
	}
	return p.Parts
}

// PolicyOps calls visit for the operations that would make what there is beside the entries, for a snapshot: policies,
// restrictions of new keys, and the limiters these share.
func (s *Store) PolicyOps(visit func(*Op)) {
	s.restrictOps(visit)
	for _, name := range s.PolicyNames() {
		if p, found := s.Policy(name); found {
			visitPolicy(p, visit)
		}
	}
}

func visitPolicy(p Policy, visit func(*Op)) {
	op := Op{Verb: SetPolicy, Key: []byte(p.Name), Parts: p.Parts}
	if p.Shadow {
		op.Options = Shadow
	}
	visit(&op)
	for _, o := range p.Overrides {
		visit(&Op{Verb: SetOverride, Key: []byte(p.Name), Who: []byte(o.ID), Parts: o.Parts})
	}
}
