package policy

import (
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
)

const (
	// MaxPolicies bounds the policies kept.
	MaxPolicies = 1000
	// MaxOverrides bounds the overrides of all policies together.
	MaxOverrides = 100_000
	// MaxPolicyBytes bounds the memory of all policies and overrides together.
	MaxPolicyBytes = 64 << 20
)

// Policies are the limits kept on the server by name. Any goroutine may call their methods. Create them with [New].
type Policies struct {
	mu        sync.RWMutex
	byName    map[string]*policy
	checks    map[string]*checkCounts // by the names of policies, also of policies that are not there yet, or no longer
	overrides int

	notes       *keyspace.Changes
	changes     []engine.Op // for the journal, in order
	changeBytes int         // of scripts, and callers' ids, in changes
	snapshot    *Snapshot   // that has not copied the policies yet
	changed     atomic.Bool
	version     uint64 // another one after each change
	bytes       int
	strict      atomic.Int64 // policies that are strict
}

// New returns no policies. Their changes are kept for a journal while the notes are on.
func New(notes *keyspace.Changes) *Policies {
	return &Policies{byName: map[string]*policy{}, checks: map[string]*checkCounts{}, notes: notes}
}

// policy is one named set of limits. Its parts are never changed in place: a reader may go on using them.
type policy struct {
	parts     []part
	shadow    bool
	strict    bool
	overrides map[string][]part
}

// find returns a policy, its limits for a caller, and whether it only counts.
func (p *Policies) find(name, id []byte) (known *policy, parts []part, shadow bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if known = p.byName[string(name)]; known == nil {
		return nil, nil, false
	}
	return known, known.partsFor(id), known.shadow
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

// checkCounts are the checks by a policy that were answered here.
type checkCounts struct{ granted, denied, shadowDenied atomic.Int64 }
