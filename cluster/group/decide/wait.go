package decide

import (
	"slices"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/engine"
)

// Serve takes calls that no longer wait for tokens.
func (d *Decider) Serve(served purses.Served) {
	for _, w := range served.Answered {
		d.CountFailure(w.Failed)
		w.Call.Batch.Done()
	}
	if len(served.ForLog) == 0 {
		return
	}
	go func() { // the caller may hold locks that the steps take
		for _, w := range served.ForLog {
			if d.decideWaited(w) {
				w.Call.Batch.Done()
			}
		}
	}()
}

// decideWaited decides the requests of a call that has waited in vain, and is claimed. They are a batch of their own,
// because the memory of their keys is the session's, which uses it again.
func (d *Decider) decideWaited(w *purses.Waiter) (finished bool) {
	c, n := w.Call, w.Call.Ops
	rest := &engine.Batch{
		Local: c.Batch.Local, InOrder: c.Batch.InOrder,
		Ops: slices.Repeat([]engine.Op{w.Op}, n), Results: make([]engine.Result, n),
	}
	rest.Done = func() {
		deliver(c, rest)
		c.Batch.Done()
	}
	r := d.begin(rest, d.Leads())
	r.at.Mono = c.Began // its time goes on
	if !r.follow(afterWaiting) {
		return false
	}
	deliver(c, rest)
	return true
}

// deliver copies the results of a call's own batch to the operations that it was made of.
func deliver(c *call.Call, rest *engine.Batch) {
	c.Batch.Worked += rest.Worked
	n := 0
	c.Each(func(_ *engine.Op, res *engine.Result) {
		*res = rest.Results[n]
		n++
	})
}
