package policy

import (
	"maps"
	"slices"

	"github.com/stintdb/stint/engine"
)

// Ops calls visit for the operations that restore all policies.
func (p *Policies) Ops(visit func(*engine.Op)) {
	for _, name := range p.Names() {
		p.mu.RLock()
		ops := p.byName[name].ops(name)
		p.mu.RUnlock()
		for i := range ops {
			visit(&ops[i])
		}
	}
}

// ops is the operations that made a policy, none if it is nil.
func (p *policy) ops(name string) (ops []engine.Op) {
	if p == nil {
		return nil
	}
	set := engine.Op{Verb: engine.SetPolicy, Key: []byte(name)}
	if p.shadow {
		set.Options |= engine.Shadow
	}
	if p.strict {
		set.Options |= engine.Strict
	}
	ops = append(ops, opThatKeeps(set, p.parts))
	for _, id := range slices.Sorted(maps.Keys(p.overrides)) {
		ops = append(ops, opThatKeeps(engine.Op{Verb: engine.SetOverride, Key: []byte(name), Who: []byte(id)}, p.overrides[id]))
	}
	return ops
}

// opThatKeeps completes a SetPolicy or SetOverride.
func opThatKeeps(op engine.Op, parts []part) engine.Op {
	named := len(parts) > 0 && parts[0].named
	if op.Parts = opsOf(parts, named); named {
		op.Options |= engine.NamedFields
	}
	return op
}
