package policy

// maxCounted bounds the names of policies of which checks are counted.
const maxCounted = 2 * MaxPolicies

// countsOf returns the counts of a policy. They go by its name: another node may have decided before this one knows of
// the policy, or of its end.
func (p *Policies) countsOf(name []byte) *checkCounts {
	p.mu.RLock()
	counts := p.checks[string(name)]
	p.mu.RUnlock()
	if counts != nil {
		return counts
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if counts = p.checks[string(name)]; counts != nil {
		return counts
	}
	if len(p.checks) >= maxCounted {
		for known := range p.checks {
			if p.byName[known] == nil {
				delete(p.checks, known)
			}
		}
	}
	counts = &checkCounts{}
	p.checks[string(name)] = counts
	return counts
}
