package router

import (
	"context"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// storeGroup carries out batches in a store, after before, if that is set.
type storeGroup struct {
	*store.Store
	before *func()
}

func (g storeGroup) Decide(b *engine.Batch) bool {
	if f := g.before; f != nil && *f != nil {
		do := *f
		*f = nil
		do()
	}
	if b.Atomic {
		g.ApplyAtomic(1, b.Ops, b.Results)
	} else {
		g.Apply(1, b.Ops, b.Results)
	}
	return true
}

// A write that removes a policy comes to a group late, after the policy was set again, with an override.
func TestOverrideSurvivesLateRemoval(t *testing.T) {
	zero, one := store.New(store.Config{Shards: 1}), store.New(store.Config{Shards: 1})
	defer zero.Close()
	defer one.Close()
	set := engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{{Key: []byte("{}"), Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1, Rate: limits.Rate{Tokens: 1, Period: 1e9}}}}}
	over := set.Clone()
	over.Verb, over.Who = engine.SetOverride, []byte("u")
	drop := engine.Op{Verb: engine.DropPolicy, Key: []byte("p")}
	do := func(r *Router, op engine.Op) {
		done := make(chan struct{})
		b := &engine.Batch{Ops: []engine.Op{op}, Results: make([]engine.Result, 1), Done: func() { close(done) }}
		if !r.Decide(b) {
			<-done
		}
		if b.Results[0].Status != engine.OK {
			t.Fatal(op.Verb, b.Results[0].Status)
		}
	}
	current := func(context.Context) error { return nil }
	other := New(context.Background(), 1, zero, current)
	other.Begin([]Group{storeGroup{Store: zero}, storeGroup{Store: one}})

	look := func() { do(other, drop) } // by another client, before this one looks at group 0
	late := func() { do(other, set); do(other, over) }
	a := New(context.Background(), 1, zero, func(context.Context) error {
		if f := look; f != nil {
			look = nil
			f()
		}
		return nil
	})
	a.Begin([]Group{storeGroup{Store: zero}, storeGroup{Store: one, before: &late}})
	do(a, set)
	if zero.PoliciesSum() != one.PoliciesSum() {
		p, _ := zero.Policy("p")
		q, _ := one.Policy("p")
		t.Errorf("group 0 has %d overrides, group 1 has %d", p.Overridden, q.Overridden)
	}
}
