package group

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/engine"
)

// wait has the operations of a batch at some positions wait for tokens of a key, all if which is nil. They must be alike, and
// otherwise do not wait.
func (h *holder) wait(b *engine.Batch, which []uint32) (waits, finished bool) {
	c := &call.Call{Batch: b, Unanswered: which, Began: h.clock.Mono()}
	first, areAlike := (*engine.Op)(nil), true
	c.Each(func(op *engine.Op, _ *engine.Result) {
		if first == nil {
			first = op
		}
		areAlike = areAlike && purses.CanWait(op) && op.Tokens == first.Tokens && op.Limit == first.Limit && bytes.Equal(op.Key, first.Key)
	})
	if !areAlike {
		c.Each(func(op *engine.Op, _ *engine.Result) {
			if purses.CanWait(op) {
				h.sendLater(h.table.Due(h.clock.Mono(), op))
			}
		})
		return false, false
	}
	c.Summarize()
	waits, due := h.table.Wait(h.clock.Mono(), &purses.Waiter{Call: c, Op: *first, Requests: int64(c.Ops)})
	h.sendLater(due)
	if !waits {
		return false, false
	}
	return true, h.decider.trackCall(c)
}

// sendLater has an operation on a loan carried out, by another goroutine: its answer may end calls that are being begun.
func (h *holder) sendLater(o *purses.Operation) {
	if o != nil {
		go h.send([]*purses.Operation{o})
	}
}

// finish takes calls that no longer wait.
func (h *holder) finish(served purses.Served, due *purses.Operation) {
	for _, w := range served.Answered {
		h.decider.metrics.countFailure(w.Failed)
		w.Call.Batch.Done()
	}
	h.sendLater(due)
	if len(served.ForLog) == 0 {
		return
	}
	go func() { // the caller may hold locks of those that decide
		for _, w := range served.ForLog {
			if h.decideWaited(w) {
				w.Call.Batch.Done()
			}
		}
	}()
}

// decideWaited has the requests of a call decided in the log that has waited in vain.
func (h *holder) decideWaited(w *purses.Waiter) (finished bool) {
	positions := w.Call.Unanswered
	if positions == nil {
		positions = allOf(w.Call.Batch)
	}
	return h.decider.decideAt(w.Call.Batch, positions, slices.Repeat([]engine.Op{w.Op}, len(positions)))
}

// allOf is the positions of all operations of a batch.
func allOf(b *engine.Batch) (positions []uint32) {
	for i := range b.Ops {
		positions = append(positions, uint32(i))
	}
	return positions
}
