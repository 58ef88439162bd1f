package policy

import "github.com/stintdb/stint/engine"

// Set keeps a policy, or replaces one: its overrides, its counters and the tokens taken stay.
func (p *Policies) Set(op *engine.Op, res *engine.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, parts := p.byName[string(op.Key)], newParts(op)
	more, fits := p.roomFor(known, parts)
	if !fits {
		res.Status = engine.TooMany
		return
	}
	p.touch()
	if known == nil {
		known = &policy{overrides: map[string][]part{}}
		p.byName[string(op.Key)] = known
	}
	p.bytes += more
	p.countStrict(known, op.Options&engine.Strict != 0)
	known.parts, known.shadow = parts, op.Options&engine.Shadow != 0
	p.note(op)
}

// Drop forgets a policy and its overrides.
func (p *Policies) Drop(op *engine.Op, res *engine.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.byName[string(op.Key)]
	if known == nil {
		res.NoPolicy(op.Key)
		return
	}
	p.touch()
	p.overrides -= len(known.overrides)
	p.bytes -= partsBytes(known.parts)
	for id, parts := range known.overrides {
		p.bytes -= len(id) + partsBytes(parts)
	}
	p.countStrict(known, false)
	delete(p.byName, string(op.Key))
	p.note(op)
}

// Override holds a caller to other limits than the policy's own, or with no limits to these again.
func (p *Policies) Override(op *engine.Op, res *engine.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.byName[string(op.Key)]
	if known == nil {
		res.NoPolicy(op.Key)
		return
	}
	held, had := known.overrides[string(op.Who)]
	if len(op.Parts) == 0 {
		if had {
			p.touch()
			delete(known.overrides, string(op.Who))
			p.overrides--
			p.bytes -= len(op.Who) + partsBytes(held)
			p.note(op)
		}
		return
	}
	parts := newParts(op)
	more, fits := p.roomForOverride(op, held, had, parts)
	if !fits {
		res.Status = engine.TooMany
		return
	}
	p.touch()
	if !had {
		p.overrides++
	}
	p.bytes += more
	known.overrides[string(op.Who)] = parts
	p.note(op)
}

// TryReadOnly answers an operation on a policy that would change none. It reports false for any other, and changes
// nothing.
func (p *Policies) TryReadOnly(op *engine.Op, res *engine.Result) (done bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	known := p.byName[string(op.Key)]
	switch {
	case op.Verb == engine.SetPolicy:
		if _, fits := p.roomFor(known, newParts(op)); fits {
			return false
		}
		res.Status = engine.TooMany
		return true
	case known == nil:
		res.NoPolicy(op.Key)
		return true
	case op.Verb == engine.DropPolicy:
		return false
	}
	held, had := known.overrides[string(op.Who)]
	if len(op.Parts) == 0 {
		return !had
	}
	if _, fits := p.roomForOverride(op, held, had, newParts(op)); fits {
		return false
	}
	res.Status = engine.TooMany
	return true
}

// roomFor returns the bytes that a policy needs beyond the known one of its name, and whether they fit.
func (p *Policies) roomFor(known *policy, parts []part) (more int, fits bool) {
	more = partsBytes(parts)
	if known != nil {
		more -= partsBytes(known.parts)
	}
	return more, (known != nil || len(p.byName) < MaxPolicies) && p.bytes+more <= MaxPolicyBytes
}

// roomForOverride is roomFor for an override, in place of the one held.
func (p *Policies) roomForOverride(op *engine.Op, held []part, had bool, parts []part) (more int, fits bool) {
	more = partsBytes(parts) - partsBytes(held)
	if !had {
		more += len(op.Who)
	}
	return more, (had || p.overrides < MaxOverrides) && p.bytes+more <= MaxPolicyBytes
}

// touch copies the policies before they change for the first time since the snapshot. The caller holds their lock.
func (p *Policies) touch() {
	p.version++
	if p.snapshot != nil {
		p.snapshot.copy()
	}
}

// Version is another number after each change.
func (p *Policies) Version() uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.version
}

// Clear forgets all policies, but not how their checks were answered. Nothing is noted as changed.
func (p *Policies) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.touch()
	p.byName, p.overrides, p.bytes = map[string]*policy{}, 0, 0
	p.strict.Store(0)
}
