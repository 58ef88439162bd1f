package policy

import "github.com/stintdb/stint/engine"

// TakeChanges hands out the operations that changed policies, in order, and forgets them.
func (p *Policies) TakeChanges(visit func(*engine.Op)) {
	p.mu.Lock()
	ops := p.changes
	p.changes, p.changeBytes = nil, 0
	p.changed.Store(false)
	p.mu.Unlock()
	for i := range ops {
		visit(&ops[i])
	}
}

// HasChanges reports whether there are any for TakeChanges.
func (p *Policies) HasChanges() bool { return p.changed.Load() }

// NoteOther is note for an operation on something else that the journal keeps in order with the policies.
func (p *Policies) NoteOther(op *engine.Op) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(op)
}

// note keeps a copy of an operation for the journal. The caller holds mu.
func (p *Policies) note(op *engine.Op) {
	if !p.notes.IsOn() {
		return
	}
	if len(p.changes) >= maxPolicyChanges || p.changeBytes > maxPolicyChangeBytes {
		p.notes.Lose()
		return
	}
	p.changes = append(p.changes, op.Clone())
	p.changeBytes += len(op.Who)
	p.changed.Store(true)
}

// maxPolicyChanges bounds the noted changes of policies. Beyond it a snapshot is needed.
const maxPolicyChanges = 10_000

// maxPolicyChangeBytes bounds the bytes of scripts and ids in them.
const maxPolicyChangeBytes = 8 << 20
