package router

import (
	"context"
	"reflect"
	"sync"

	"github.com/stintdb/stint/engine"
)

const (
	changesAtOnce = 256 // bounds the batches with changes of policies that are decided at the same time
	spreadTries   = 4   // how often it is tried to give the other groups what group 0 has
)

// policyChanges are the changes of policies under way. Group 0 decides each first, which gives the changes of all nodes
// one order. Then the other groups get what group 0 has.
type policyChanges struct {
	ctx      context.Context // of the node
	policies Policies
	catchUp  func(ctx context.Context) error // see Router
	underWay chan struct{}                   // has an element for each batch
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
			if engine.AnyChangesPolicies(part.Ops) {
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
// written what is there. What fails is tried again, as while a group elects a leader. In the end the changes are uncertain.
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
	for tries := 0; len(changes) > 0; {
		present, err := changes, p.catchUp(p.ctx) // if this node cannot catch up, the changes as they were asked for
		if err == nil {
			if present = p.present(changes); reflect.DeepEqual(present, sent) {
				return
			}
		}
		isSent := send(groups, present)
		if sent = nil; isSent && err == nil {
			sent = present
		} else if tries++; tries == spreadTries || p.ctx.Err() != nil {
			for i := range b.Results {
				b.Results[i].Status = engine.Uncertain
			}
			return
		}
	}
}

// present returns the operations that make what was changed as it is in group 0. A policy that was gone at one look is sent
// as a whole from then on: its removal takes the overrides with it.
func (p *policyChanges) present(changes []engine.Op) (present []engine.Op) {
	for i := range changes {
		of := p.policies.PresentPolicy(&changes[i])
		if of[0].Verb == engine.DropPolicy {
			changes[i].Verb = engine.DropPolicy
		}
		present = append(present, of...)
	}
	return present
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
