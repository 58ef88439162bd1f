package policy

import (
	"maps"
	"slices"

	"github.com/stintdb/stint/engine"
)

// Snapshot is the policies as they were at one instant. They are copied when they change for the first time after it.
type Snapshot struct {
	of     *Policies
	byName map[string]*policy // nil until they are copied; under the lock of the policies
}

// Snapshot marks this instant. There is at most one Snapshot, until it is released.
func (p *Policies) Snapshot() *Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.snapshot = &Snapshot{of: p}
	return p.snapshot
}

// Ops is [Policies.Ops] as at the time of the snapshot.
func (s *Snapshot) Ops(visit func(*engine.Op)) {
	s.of.mu.RLock() // excludes changes of policies, which copy them too
	if s.of.snapshot == s {
		s.copy()
	}
	s.of.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		ops := s.byName[name].ops(name)
		for i := range ops {
			visit(&ops[i])
		}
	}
}

// Release ends the snapshot, so that changes need not copy the policies.
func (s *Snapshot) Release() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.snapshot == s {
		s.of.snapshot = nil
	}
}

// copy keeps the policies there are. Their limits are never changed in place and need no copy.
func (s *Snapshot) copy() {
	s.byName = make(map[string]*policy, len(s.of.byName))
	for name, known := range s.of.byName {
		copied := *known
		copied.overrides = maps.Clone(known.overrides)
		s.byName[name] = &copied
	}
	s.of.snapshot = nil
}
