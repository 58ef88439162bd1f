package policy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stintdb/stint/engine"
)

// Policy is a policy in its original form, with the counts of [Policies.CountCheck].
type Policy struct {
	Name       string
	Shadow     bool
	Strict     bool        // its keys are decided in the log alone
	Parts      []engine.Op // Key and Who are written as with [engine.NamedFields]
	Overrides  []Override  // only as [Policies.Find] returns it
	Overridden int         // callers held to other limits
	IsOwn      bool        // Parts are an override's

	Granted, Denied, ShadowDenied int64
}

// Override is the limits of a policy for one caller.
type Override struct {
	ID    string
	Parts []engine.Op
}

// Names lists the policies in the order of their names.
func (p *Policies) Names() []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Sorted(maps.Keys(p.byName))
}

// Find returns a copy of a policy, with its overrides.
func (p *Policies) Find(name string) (Policy, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	known := p.byName[name]
	if known == nil {
		return Policy{}, false
	}
	return p.copy(name, known), true
}

// Of returns a copy of a policy without its overrides; with an id, Parts are the limits that this caller is held
// to. Its time does not depend on the number of overrides.
func (p *Policies) Of(name string, id []byte) (Policy, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	known := p.byName[name]
	if known == nil {
		return Policy{}, false
	}
	found, parts := p.view(name, known), known.parts
	if id != nil {
		_, found.IsOwn = known.overrides[string(id)]
		parts = known.partsFor(id)
	}
	found.Parts = shown(parts)
	return found, true
}

// Overridden calls visit for each caller that an override of a policy holds to other limits, in any order. visit must
// not call the policies.
func (p *Policies) Overridden(name string, visit func(id string)) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if known := p.byName[name]; known != nil {
		for id := range known.overrides {
			visit(id)
		}
	}
}

// Templates calls visit for the key of each limit of a policy, {} and {name} as they stand there, until it returns
// false. found is false if there is no such policy. visit must not call the policies, nor keep the key.
func (p *Policies) Templates(name string, visit func(key []byte) (more bool)) (found bool) {
	p.mu.RLock()
	known := p.byName[name]
	var parts []part
	if known != nil {
		parts = known.parts
	}
	p.mu.RUnlock()
	var key []byte
	for i := range parts {
		if key, _ = parts[i].key.AppendTo(key[:0], []byte(engine.Placeholder), nil); !visit(key) {
			break
		}
	}
	return known != nil
}

// Keys calls visit for the key of each limit that a policy holds a caller to, the caller's id and the fields of a call
// filled in, until it returns false. Fields that are missing stay as {name}. found is false if there is no such policy.
// After the key of a fair share it is also called for the key of the member: see [engine.Op.MemberKey]. visit must not
// call the policies, nor keep the key.
func (p *Policies) Keys(name, id []byte, fields [][]byte, visit func(key []byte) (more bool)) (found bool) {
	known, parts, _ := p.find(name, id)
	var key []byte
	for i := range parts {
		if key, _ = parts[i].key.AppendTo(key[:0], id, fields); !visit(key) {
			break
		}
		if parts[i].limit.Algorithm.Weighs() {
			member, _ := parts[i].who.AppendTo(nil, id, fields)
			if key = engine.AppendMember(key, member); !visit(key) {
				break
			}
		}
	}
	return known != nil
}

func (p *Policies) copy(name string, known *policy) Policy {
	copied := p.view(name, known)
	copied.Parts = shown(known.parts)
	for _, id := range slices.Sorted(maps.Keys(known.overrides)) {
		copied.Overrides = append(copied.Overrides, Override{id, shown(known.overrides[id])})
	}
	return copied
}

// Counts calls visit for every policy, without its limits and overrides, in the order of their names.
func (p *Policies) Counts(visit func(Policy)) {
	p.mu.RLock()
	counts := make([]Policy, 0, len(p.byName))
	for name, known := range p.byName {
		counts = append(counts, p.view(name, known))
	}
	p.mu.RUnlock()
	slices.SortFunc(counts, func(a, b Policy) int { return cmp.Compare(a.Name, b.Name) })
	for _, known := range counts {
		visit(known)
	}
}

// AppendKey appends to b the key of part number part of a policy for a caller and the fields of a call. Without such a
// policy or part it appends nothing: the policy may have been changed in between.
func (p *Policies) AppendKey(b, policy, id []byte, fields [][]byte, part int) []byte {
	_, parts, _ := p.find(policy, id)
	if part < 0 || part >= len(parts) {
		return b
	}
	b, _ = parts[part].key.AppendTo(b, id, fields)
	return b
}

// CountCheck counts for a policy the answer to a Check, or to a Reserve of one, unless it is an error or that of a
// repeated request. The server that answers a caller calls it: in a cluster one node for each answer, whichever decided
// it. A PEEK is not to be counted.
func (p *Policies) CountCheck(policy []byte, res *engine.Result) {
	if res.Status != engine.OK || res.Number == engine.Repeated {
		return
	}
	counts := p.countsOf(policy)
	switch {
	case !res.Allowed:
		counts.denied.Add(1)
	case res.Binding >= 0: // a limit would have denied it
		counts.shadowDenied.Add(1)
	default:
		counts.granted.Add(1)
	}
}

// view is a policy with the counts of its checks, without its limits. The caller holds mu.
func (p *Policies) view(name string, known *policy) Policy {
	v := Policy{Name: name, Shadow: known.shadow, Strict: known.strict, Overridden: len(known.overrides)}
	if counts := p.checks[name]; counts != nil {
		v.Granted, v.Denied, v.ShadowDenied = counts.granted.Load(), counts.denied.Load(), counts.shadowDenied.Load()
	}
	return v
}

// IsShadow reports whether there is a policy of that name, in shadow.
func (p *Policies) IsShadow(name []byte) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	known := p.byName[string(name)]
	return known != nil && known.shadow
}
