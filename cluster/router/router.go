// Package router divides batches among the groups of a cluster that have their keys.
package router

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
)

// Router divides batches among groups. Operations of one batch on one key stay in order, and so do operations that
// every group carries out.
type Router struct {
	count    int      // the number of groups that have keys
	shared   []string // patterns of keys whose limits may be asked in any group
	policies Policies
	// catchUp waits until this node knows every policy that was acknowledged before.
	catchUp func(ctx context.Context) error
	ctx     context.Context // of the node

	groups atomic.Pointer[[]Group]
	splits sync.Pool     // of *split
	again  chan struct{} // has an element for each call of decideAgain under way
	policyChanges
}

// againAtOnce bounds the checks that wait until this node knows a policy.
const againAtOnce = 64

// New returns a router to a number of groups. Until Begin, batches get the answer that there is no leader.
func New(ctx context.Context, count int, policies Policies, catchUp func(ctx context.Context) error) *Router {
	r := &Router{ctx: ctx, count: count, policies: policies, catchUp: catchUp, again: make(chan struct{}, againAtOnce)}
	r.policyChanges = policyChanges{ctx: ctx, policies: policies, catchUp: catchUp, underWay: make(chan struct{}, changesAtOnce)}
	r.splits.New = func() any { return newSplit(r) }
	return r
}

// Begin gives the router the groups that decide batches, from group 0 on. It may be called again.
func (r *Router) Begin(groups []Group) { r.groups.Store(&groups) }

// Decide is [Group.Decide], by all groups.
func (r *Router) Decide(b *engine.Batch) (finished bool) {
	groups := r.groups.Load()
	if groups == nil {
		answerAll(b, engine.NoLeader)
		return true
	}
	if len(b.Ops) == 0 {
		return (*groups)[0].Decide(b)
	}
	if b.Atomic && len(b.Ops) > 1 {
		at := r.placeAtomic(b)
		switch {
		case at < 0 && engine.AnyChangesPolicies(b.Ops) && changesOnlyPolicies(b.Ops):
			return r.changePolicies(*groups, b)
		case at < 0:
			answerAll(b, engine.CrossSlot)
			return true
		}
		return (*groups)[at].Decide(b)
	}
	at := r.Place(&b.Ops[0])
	for i := 1; i < len(b.Ops) && at >= 0; i++ {
		if r.Place(&b.Ops[i]) != at {
			at = crossing
		}
	}
	if at >= 0 && !hasCheck(b) {
		return (*groups)[at].Decide(b)
	}
	if at < 0 && engine.AnyChangesPolicies(b.Ops) {
		return r.changePolicies(*groups, b)
	}
	return r.split(*groups, b)
}

// changePolicies decides a batch some of whose operations change policies.
func (r *Router) changePolicies(groups []Group, b *engine.Batch) (finished bool) {
	if !r.begin(groups, r, b) {
		answerAll(b, engine.Overloaded)
		return true
	}
	return false
}

// placeAtomic returns the group of all operations of a batch; below 0 if they have no common one.
func (r *Router) placeAtomic(b *engine.Batch) int {
	at := anywhere
	for i := range b.Ops {
		if at = meet(at, r.Place(&b.Ops[i])); at < 0 {
			return crossing
		}
	}
	return at
}

// hasCheck reports whether an operation asks a policy, whose keys this node may not know yet.
func hasCheck(b *engine.Batch) bool {
	for i := range b.Ops {
		if b.Ops[i].Request().Verb == engine.Check {
			return true
		}
	}
	return false
}

func answerAll(b *engine.Batch, status engine.Status) {
	for i := range b.Results {
		b.Results[i].Clear()
		b.Results[i].Status = status
	}
}
