package router

import (
	"context"
	"reflect"
	"sync"

	"github.com/stintdb/stint/engine"
)

// changesAtOnce bounds the batches with changes of policies that are decided at the same time.
const changesAtOnce = 256

// policyChanges are the changes of policies under way. Group 0 decides each first, which gives the changes of all nodes
// one order. Then the other groups get what group 0 has.
type policyChanges struct {
	ctx      context.Context // of the node
	policies Policies
	catchUp  func(ctx context.Context) error // see Router
	underWay chan struct{}                   // has an element for each batch
}

// changesPolicies reports whether some operations change policies.
func changesPolicies(ops []engine.Op) bool {
	for i := range ops {
		if ops[i].Verb.ChangesPolicies() {
			return true
		}
	}
	return false
}

// changesOnlyPolicies reports whether all operations change policies, after an Expect of policies at most.
func changesOnlyPolicies(ops []engine.Op) bool {
	for i := range ops {
		if !ops[i].Verb.ChangesPolicies() && (i > 0 || !ops[i].ExpectsPolicies()) {
			return false
		}
	}
	return true
}

// begin decides a batch some of whose operations change policies; all decides the others. It reports false if too many
// are under way.
func (p *policyChanges) begin(groups []Group, all Group, b *engine.Batch) (began bool) {
	select {
	case p.underWay <- struct{}{}:
	default:
		return false
	}
	ops := make([]engine.Op, len(b.Ops)) // the memory of the keys will be reused
	for i := range ops {
		ops[i] = b.Ops[i].Clone()
	}
	go func() {
		defer b.Done()
		defer func() { <-p.underWay }()
		for from, to := 0, 0; from < len(ops); from = to {
			for to = from + 1; to < len(ops) && (b.Atomic || ops[to].Verb.ChangesPolicies() == ops[from].Verb.ChangesPolicies()); to++ {
			}
			part := engine.Batch{Ops: ops[from:to], Results: b.Results[from:to], Atomic: b.Atomic, Local: b.Local, InOrder: b.InOrder}
			if changesPolicies(part.Ops) {
				decide(groups[0], &part)
				p.spread(groups[1:], &part)
			} else {
				decide(all, &part)
			}
			b.Worked += part.Worked
		}
	}()
	return true
}

// decide lets a group, or the router, decide a batch, and waits for the results.
func decide(g Group, b *engine.Batch) {
	done := make(chan struct{})
	b.Done = func() { close(done) }
	if !g.Decide(b) {
		<-done
	}
}

// spread gives the other groups the policies that group 0 has changed, until they have what it has. Changes of several
// nodes may come to them in any order, but each node looks at group 0 after it wrote to them: the last one to write has
// written what is there. If that fails, the changes are uncertain.
func (p *policyChanges) spread(groups []Group, b *engine.Batch) {
	var changes []engine.Op
	for i := range b.Ops {
		switch b.Results[i].Status {
		case engine.OK, engine.NotFound, engine.Uncertain:
			if b.Ops[i].Verb.ChangesPolicies() {
				changes = append(changes, b.Ops[i])
			}
		}
	}
	var sent []engine.Op
	for len(changes) > 0 {
		err := p.catchUp(p.ctx)
		var present []engine.Op
		for i := range changes {
			present = append(present, p.policies.PresentPolicy(&changes[i])...)
		}
		if err == nil && reflect.DeepEqual(present, sent) {
			return
		}
		if err != nil || !send(groups, present) {
			for i := range b.Results {
				b.Results[i].Status = engine.Uncertain
			}
			return
		}
		sent = present
	}
}

// send has groups carry out changes of policies, and reports whether all have.
func send(groups []Group, ops []engine.Op) bool {
	batches, sent := make([]engine.Batch, len(groups)), sync.WaitGroup{}
	for i, g := range groups {
		batches[i] = engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Atomic: len(ops) > 1}
		sent.Go(func() { decide(g, &batches[i]) })
	}
	sent.Wait()
	for i := range batches {
		for j := range batches[i].Results {
			if s := batches[i].Results[j].Status; s != engine.OK && s != engine.NotFound {
				return false
			}
		}
	}
	return true
}
