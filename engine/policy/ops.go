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

// Present returns the operations that make what op changes the same in other policies, whichever changes these have
// missed or had before.
func (p *Policies) Present(op *engine.Op) []engine.Op {
	p.mu.RLock()
	defer p.mu.RUnlock()
	known := p.byName[string(op.Key)]
	drop := engine.Op{Verb: engine.DropPolicy, Key: op.Key}
	switch {
	case known == nil:
		return []engine.Op{drop}
	case op.Verb == engine.SetPolicy:
		return []engine.Op{known.op(op.Key)}
	case op.Verb == engine.SetOverride:
		return []engine.Op{known.op(op.Key), opThatKeeps(engine.Op{Verb: engine.SetOverride, Key: op.Key, Who: op.Who}, known.overrides[string(op.Who)])}
	}
	return append([]engine.Op{drop}, known.ops(string(op.Key))...)
}

// op is the operation that made a policy, without its overrides.
func (p *policy) op(name []byte) engine.Op {
	set := engine.Op{Verb: engine.SetPolicy, Key: name}
	if p.shadow {
		set.Options |= engine.Shadow
	}
	if p.strict {
		set.Options |= engine.Strict
	}
	return opThatKeeps(set, p.parts)
}

// ops is the operations that made a policy, none if it is nil.
func (p *policy) ops(name string) (ops []engine.Op) {
	if p == nil {
		return nil
	}
	ops = append(ops, p.op([]byte(name)))
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
