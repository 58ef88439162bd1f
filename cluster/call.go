package cluster

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
)

// call is a batch on its way to being decided. Whoever claims it answers it; all others must leave its batch alone from
// then on, for the batch belongs to its session again.
type call struct {
	batch *engine.Batch
	which []uint32 // positions of the operations that are not answered yet, nil for all
	group []byte   // they as a group, while the call waits to be forwarded
	id    uint64   // on the connection it was forwarded on
	began time.Duration
	state atomic.Uint32

	// What is to be known of the batch even when it may not be looked at any more.
	ops     int  // not answered yet
	changes bool // some of them may change something

	// back is called when the call was not taken after all, although it had been proposed; nil for the node's own, which
	// are forwarded to whoever leads then.
	back func(*call)
}

// The states of a call.
const (
	callWaits   = iota // nothing of it has left this node, nor will before it is marked as sent
	callSent           // it is proposed, or on its way to the leader
	callClaimed        // somebody answers it
)

// send marks a waiting call as sent. It reports false for one that has been given up.
func (c *call) send() bool { return c.state.CompareAndSwap(callWaits, callSent) }

// unsend marks a call that was sent, but certainly not taken, as waiting again.
func (c *call) unsend() bool { return c.state.CompareAndSwap(callSent, callWaits) }

// claim makes the caller the one who answers. sent tells whether the call may have been decided.
func (c *call) claim() (won, sent bool) {
	before := c.state.Swap(callClaimed)
	return before != callClaimed, before == callSent
}

// isOpen reports whether nobody answers the call yet.
func (c *call) isOpen() bool { return c.state.Load() != callClaimed }

// fail answers a call that nobody answers yet with an error: status if nothing of it was decided for certain. It returns
// the status that was told, or OK if the call was answered already.
func (c *call) fail(status engine.Status) engine.Status {
	told := c.end(status)
	if told != engine.OK {
		c.batch.Done()
	}
	return told
}

// end is fail for a call whose batch is not waited for yet.
func (c *call) end(status engine.Status) engine.Status {
	won, sent := c.claim()
	if !won {
		return engine.OK
	}
	if sent && c.changes {
		status = engine.Uncertain
	}
	c.refuse(status)
	return status
}

// refuse fills in what is not answered yet with an error. Only who has claimed the call, or not published it yet, may.
func (c *call) refuse(status engine.Status) {
	c.each(func(_ *engine.Op, res *engine.Result) { res.Status, res.Allowed = status, false })
}

// each calls visit for every operation not answered yet. Only who has claimed the call, or not published it yet, may.
func (c *call) each(visit func(op *engine.Op, res *engine.Result)) {
	if c.which == nil {
		for i := range c.batch.Ops {
			visit(&c.batch.Ops[i], &c.batch.Results[i])
		}
		return
	}
	for _, i := range c.which {
		visit(&c.batch.Ops[i], &c.batch.Results[i])
	}
}

// count notes what is to be known of the operations that are not answered yet, before the call is handed on.
func (c *call) count() {
	c.ops, c.changes = 0, false
	c.each(func(op *engine.Op, _ *engine.Result) {
		c.ops++
		c.changes = c.changes || op.Writes()
	})
}

// waitlist holds the calls under way in the order they began, to end those that take too long.
type waitlist struct {
	mu     sync.Mutex
	calls  []*call
	first  int
	closed bool
}

// add takes in a call. It reports false after close: nobody would end the call then.
func (w *waitlist) add(c *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	for w.first < len(w.calls) && !w.calls[w.first].isOpen() {
		w.drop()
	}
	if w.first > 1024 && w.first > len(w.calls)/2 {
		n := copy(w.calls, w.calls[w.first:])
		clear(w.calls[n:])
		w.calls, w.first = w.calls[:n], 0
	}
	w.calls = append(w.calls, c)
	return true
}

// close takes out all that is open, and lets nothing in any more.
func (w *waitlist) close() (open []*call) {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	return w.overdue(math.MaxInt64)
}

func (w *waitlist) drop() {
	w.calls[w.first] = nil
	w.first++
}

// overdue takes out the calls that began before a time and are still open.
func (w *waitlist) overdue(before time.Duration) (late []*call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.first < len(w.calls) && (!w.calls[w.first].isOpen() || w.calls[w.first].began < before) {
		if c := w.calls[w.first]; c.isOpen() {
			late = append(late, c)
		}
		w.drop()
	}
	return late
}
