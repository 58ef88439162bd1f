package engine

import "sync/atomic"

// checkCounts are the checks by a policy that were answered here.
type checkCounts struct{ granted, denied, shadowDenied atomic.Int64 }

// maxCounted bounds the names of policies of which checks are counted.
const maxCounted = 2 * MaxPolicies

// CountCheck counts for a policy the answer to a Check, or to a Reserve of one, unless it is an error or that of a repeated request. The server
// that answers a caller calls it: in a cluster one node for each answer, whichever decided it. A PEEK is not to be counted.
func (s *Store) CountCheck(policy []byte, res *Result) {
	if res.Status != OK || res.Number == Repeated {
		return
	}
	counts := s.policies.countsOf(policy)
	switch {
	case !res.Allowed:
		counts.denied.Add(1)
	case res.Binding >= 0: // a limit would have denied it
		counts.shadowDenied.Add(1)
	default:
		counts.granted.Add(1)
	}
}

// countsOf returns the counts of a policy. They go by its name: another node may have decided before this one knows of the policy, or of its end.
func (p *policies) countsOf(name []byte) *checkCounts {
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

// view is a policy with the counts of its checks, without its limits. The caller holds mu.
func (p *policies) view(name string, known *policy) Policy {
	v := Policy{Name: name, Shadow: known.shadow, Strict: known.strict, Overridden: len(known.overrides)}
	if counts := p.checks[name]; counts != nil {
		v.Granted, v.Denied, v.ShadowDenied = counts.granted.Load(), counts.denied.Load(), counts.shadowDenied.Load()
	}
	return v
}
