// Package decider has the door through which operations are decided, and the decider of a server that stands alone.
package decider

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
)

// Decider decides the operations of sessions, in order and at one reading of its clock.
//
// Decide either fills in the results and returns true, or returns false at once and calls b.Done later; it never waits.
// Key, Who and Args in b.Ops, also of their Parts, are valid until Decide returns: a Decider that needs them longer
// copies them. The batch itself stays untouched until Done.
type Decider interface {
	Decide(b *engine.Batch) (finished bool)
}

// Local decides on a store in this process.
type Local struct {
	Store *store.Store
	Clock *clock.Clock
	// Durable, if set, delays every reply until the decisions it depends on are durable.
	Durable Durable
}

// Durable makes decisions durable.
type Durable interface {
	// Commit calls done, from another goroutine, once everything decided so far is durable, or with the reason why not.
	Commit(done func(error))
	// Err is why nothing can be made durable at the moment, nil if it can.
	Err() error
}

// Decide implements [Decider].
func (l *Local) Decide(b *engine.Batch) bool {
	if l.Durable == nil {
		l.apply(b)
		return true
	}
	if l.Durable.Err() != nil && writes(b) {
		l.refuse(b)
		return true
	}
	l.apply(b)
	if !changed(b) {
		return true
	}
	l.Durable.Commit(func(err error) {
		if err != nil {
			markNotDurable(b)
		}
		b.Done()
	})
	return false
}

func (l *Local) apply(b *engine.Batch) {
	if b.Atomic {
		l.Store.ApplyAtomic(l.Clock.Now(), b.Ops, b.Results)
	} else {
		l.Store.Apply(l.Clock.Now(), b.Ops, b.Results)
	}
}

// refuse answers while the disk fails: it grants nothing, and answers operations that change nothing, such as denials,
// peeks and refunds of unknown keys.
func (l *Local) refuse(b *engine.Batch) {
	for i := range b.Ops {
		switch {
		case l.Store.TryReadOnly(l.Clock.Now(), &b.Ops[i], &b.Results[i]):
		case b.Ops[i].Writes():
			b.Results[i].Status, b.Results[i].Allowed = engine.NotDurable, false
		default:
			l.Store.Apply(l.Clock.Now(), b.Ops[i:i+1], b.Results[i:i+1])
		}
	}
}

func writes(b *engine.Batch) bool {
	for i := range b.Ops {
		if b.Ops[i].Writes() {
			return true
		}
	}
	return false
}

// changed reports whether executing the batch may have changed anything: a denial does not.
func changed(b *engine.Batch) bool {
	for i := range b.Ops {
		if changedBy(&b.Ops[i], &b.Results[i]) {
			return true
		}
	}
	return false
}

func changedBy(op *engine.Op, res *engine.Result) bool {
	switch op.Verb {
	case engine.Acquire, engine.AcquireAll, engine.Check, engine.Reserve, engine.Extend:
		return op.Writes() && res.Allowed
	case engine.Command, engine.Script:
		return res.Granted > 0
	}
	return op.Writes() && res.Status == engine.OK
}

// markNotDurable turns the results of operations that changed state into errors.
func markNotDurable(b *engine.Batch) {
	for i := range b.Ops {
		if changedBy(&b.Ops[i], &b.Results[i]) {
			b.Results[i].Status, b.Results[i].Allowed = engine.NotDurable, false
		}
	}
}
