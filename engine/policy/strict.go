package policy

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
)

// countStrict sets whether a policy is strict. The caller holds mu.
func (p *Policies) countStrict(known *policy, strict bool) {
	switch {
	case strict && !known.strict:
		p.strict.Add(1)
	case !strict && known.strict:
		p.strict.Add(-1)
	}
	known.strict = strict
}

// IsStrict reports whether an operation must be decided in the log alone: it checks a policy with [engine.Strict], asks
// for a key that a limit of such a policy can come to, or has [engine.FromPurses]. Limits of overrides with other keys
// do not count.
func (p *Policies) IsStrict(op *engine.Op) bool {
	if op.Options&engine.FromPurses != 0 && (op.Verb == engine.Check || op.Verb == engine.AcquireAll) {
		return true // its purses are in the log's state
	}
	if p.strict.Load() == 0 { // nearly always
		return false
	}
	if op.Verb == engine.Check && p.isStrict(op.Key) {
		return true
	}
	if op.Verb == engine.Check || op.Verb == engine.AcquireAll {
		parts := op.Parts
		if op.Verb == engine.Check {
			parts = p.Asked(op)
		}
		for i := range parts {
			if p.hasStrictKey(parts[i].Key) {
				return true
			}
		}
		return false
	}
	return p.hasStrictKey(op.Key)
}

func (p *Policies) isStrict(name []byte) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	known := p.byName[string(name)]
	return known != nil && known.strict
}

// hasStrictKey reports whether a limit of a strict policy can come to the key.
func (p *Policies) hasStrictKey(key []byte) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	key = database.KeyOf(key)
	for _, known := range p.byName {
		for i := range known.parts {
			if !known.strict {
				break
			}
			if _, _, isOne := known.parts[i].key.Values(key); isOne {
				return true
			}
		}
	}
	return false
}
