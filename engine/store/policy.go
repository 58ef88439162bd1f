package store

import (
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

const (
	// MaxPolicies bounds the policies kept.
	MaxPolicies = 1000
	// MaxOverrides bounds the overrides of all policies together.
	MaxOverrides = 100_000
	// MaxPolicyBytes bounds the memory of all policies and overrides together.
	MaxPolicyBytes = 64 << 20
)

// policies are the limits kept on the server by name.
type policies struct {
	mu        sync.RWMutex
	byName    map[string]*policy
	checks    map[string]*checkCounts // by the names of policies, also of those that are not there yet, or no longer
	overrides int

	notes       *keyspace.Changes
	changes     []engine.Op // for the journal, in order
	changeBytes int         // of scripts, and callers' ids, in changes
	snapshot    *Snapshot   // that has not copied the policies yet
	changed     atomic.Bool
	bytes       int
	strict      atomic.Int64 // policies that are strict
}

// policy is one named set of limits. Its parts are never changed in place: a reader may go on using them.
type policy struct {
	parts     []part
	shadow    bool
	strict    bool
	overrides map[string][]part
}

// part is one limit of a policy.
type part struct {
	limit    limits.Limit
	key, who engine.Template
	options  engine.Option // FixedCost, or none
	tokens   int64         // of a FixedCost
	keep     engine.Keep
	weight   int64
	named    bool // it was kept with NamedFields, and so were all limits beside it
	meets    bool // some callers or fields make one key of two of the limits: such a policy was kept by an earlier version
}

// newParts makes the limits of a SetPolicy or SetOverride, whose templates [CheckPolicy] takes.
func newParts(op *engine.Op) []part {
	named := op.Options&engine.NamedFields != 0
	parts := make([]part, len(op.Parts))
	for i := range op.Parts {
		p := &op.Parts[i]
		key, _ := engine.ReadTemplate(p.Key, named)
		who, _ := p.WhoTemplate(named)
		parts[i] = part{limit: p.Limit, key: key, who: who, options: p.Options & engine.FixedCost, keep: p.Keep, weight: p.Weight, named: named}
		if p.Options&engine.FixedCost != 0 {
			parts[i].tokens = p.Tokens
		}
	}
	if _, second := meetingParts(parts, op); second > 0 {
		for i := range parts {
			parts[i].meets = true
		}
	}
	return parts
}

// set keeps a policy, or replaces one: its overrides, its counters and the tokens taken stay.
func (p *policies) set(op *engine.Op, res *engine.Result) {
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

func (p *policies) drop(op *engine.Op, res *engine.Result) {
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

func (p *policies) override(op *engine.Op, res *engine.Result) {
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

// tryReadOnly answers an operation on a policy that changes none, and reports false for any other.
func (p *policies) tryReadOnly(op *engine.Op, res *engine.Result) (done bool) {
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
func (p *policies) roomFor(known *policy, parts []part) (more int, fits bool) {
	more = partsBytes(parts)
	if known != nil {
		more -= partsBytes(known.parts)
	}
	return more, (known != nil || len(p.byName) < MaxPolicies) && p.bytes+more <= MaxPolicyBytes
}

// roomForOverride is roomFor for an override, in place of the one held.
func (p *policies) roomForOverride(op *engine.Op, held []part, had bool, parts []part) (more int, fits bool) {
	more = partsBytes(parts) - partsBytes(held)
	if !had {
		more += len(op.Who)
	}
	return more, (had || p.overrides < MaxOverrides) && p.bytes+more <= MaxPolicyBytes
}

// noteOther is note for an operation on something else that the journal keeps in order with the policies.
func (p *policies) noteOther(op *engine.Op) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(op)
}

// note keeps a copy of an operation for the journal. The caller holds mu.
func (p *policies) note(op *engine.Op) {
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

// partsBytes is about the memory of a policy's limits.
func partsBytes(parts []part) (bytes int) {
	for i := range parts {
		p := &parts[i]
		bytes += partBytes + p.key.Bytes() + p.who.Bytes()
	}
	return bytes
}

const partBytes = 192 // of a part, without its texts

// find returns a policy, its limits for a caller, and whether it only counts.
func (p *policies) find(name, id []byte) (known *policy, parts []part, shadow bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if known = p.byName[string(name)]; known == nil {
		return nil, nil, false
	}
	return known, known.partsFor(id), known.shadow
}

// opsFor is the limits that a policy holds a caller to, as operations on their keys.
func (p *policies) opsFor(check *engine.Op) []engine.Op {
	_, parts, _ := p.find(check.Key, check.Who)
	ops := make([]engine.Op, len(parts))
	for i := range parts {
		parts[i].ask(check, &ops[i])
		ops[i].Key, _ = parts[i].key.AppendTo(nil, check.Who, check.Args)
		ops[i].Key = database.EscapeFrom(ops[i].Key, 0)
		ops[i].Who, _ = parts[i].who.AppendTo(nil, check.Who, check.Args)
	}
	return ops
}

// unasked is the first field of a check that neither the policy's own limits nor the caller's ask for, nil if there is none.
func (p *policies) unasked(known *policy, parts []part, fields [][]byte) (name []byte) {
	for i := 0; i < len(fields); i += 2 {
		if asksFor(parts, fields[i]) {
			continue
		}
		p.mu.RLock()
		own := known.parts
		p.mu.RUnlock()
		if !asksFor(own, fields[i]) {
			return fields[i]
		}
	}
	return nil
}

func asksFor(parts []part, field []byte) bool {
	for i := range parts {
		if parts[i].key.AsksFor(field) || parts[i].who.AsksFor(field) {
			return true
		}
	}
	return false
}

// partsFor is the limits that a caller is held to.
func (p *policy) partsFor(id []byte) []part {
	if len(p.overrides) > 0 {
		if own, ok := p.overrides[string(id)]; ok {
			return own
		}
	}
	return p.parts
}
