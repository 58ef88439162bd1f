package loans

import (
	"sync/atomic"

	"github.com/stintdb/stint/engine"
)

// Do decides operations as one batch and waits for the results.
func Do(decide func(b *engine.Batch) (finished bool), ops ...engine.Op) []engine.Result {
	b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops))}
	done := make(chan struct{})
	b.Done = func() { close(done) }
	if !decide(b) {
		<-done
	}
	return b.Results
}

// Batch is a batch with requests that may have to wait after the batch is decided.
type Batch struct {
	whole *engine.Batch
	open  atomic.Int64 // requests that wait, and one for the batch itself
}

// Decide decides another batch in place of the whole one. Then settle takes the results: it calls Add for each request
// that waits, and Done is called at the end of its wait.
func (b *Batch) Decide(whole, as *engine.Batch, decide func(b *engine.Batch) bool, settle func()) (finished bool) {
	b.whole = whole
	b.open.Store(1)
	as.Atomic, as.Local, as.InOrder = whole.Atomic, whole.Local, whole.InOrder
	as.Done = func() {
		whole.Worked += as.Worked
		settle()
		b.Done()
	}
	if !decide(as) {
		return false
	}
	settle()
	return b.open.Add(-1) == 0
}

// Add notes that a request waits.
func (b *Batch) Add() { b.open.Add(1) }

// Done notes that a request no longer waits. The last one ends the whole batch.
func (b *Batch) Done() {
	if b.open.Add(-1) == 0 {
		b.whole.Done()
	}
}
