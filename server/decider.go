package server

import "github.com/stintdb/stint/engine"

// Batch is what a session asks to have decided: one pipeline's operations, or one transaction's.
type Batch struct {
	Ops     []engine.Op
	Results []engine.Result // as long as Ops
	Atomic  bool            // all at one instant with nothing in between: MULTI … EXEC
	Local   bool            // reads may be answered from this node's own state: READONLY

	// Done is called once, from another goroutine, when Decide returned false and the results are in.
	Done func()
}

// Decider is the door through which sessions have operations decided, in order and at one reading of its clock.
//
// Decide either fills in the results and returns true, or returns false at once and calls b.Done later; it never
// waits. Key, Who and those of Parts in b.Ops are only good until Decide
// returns: a Decider that needs them longer copies them. The batch
// itself stays untouched until Done.
type Decider interface {
	Decide(b *Batch) (finished bool)
}

// Local decides on a store in this process.
type Local struct {
	Store *engine.Store
	Clock *Clock
}

// Decide implements [Decider]; it always finishes.
func (l *Local) Decide(b *Batch) bool {
	if b.Atomic {
		l.Store.ApplyAtomic(l.Clock.Now(), b.Ops, b.Results)
	} else {
		l.Store.Apply(l.Clock.Now(), b.Ops, b.Results)
	}
	return true
}
