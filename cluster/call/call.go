// Package call is a batch of operations on its way through a cluster, and the bytes that it travels as.
package call

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/engine"
)

// Call is a batch on its way to a decision. Exactly one party claims and answers it. After that nobody else may touch
// the batch, which belongs to its session again.
type Call struct {
	Batch       *engine.Batch
	Unanswered  []uint32 // positions of the operations without an answer, nil for all
	Group       []byte   // these operations as a group, while the call waits to be forwarded
	ID          uint64   // on the connection it was forwarded on
	Began       time.Duration
	state       atomic.Uint32
	BrokenConns int // connections that broke while the call waited for its answer

	// A summary of the batch, which stays valid after the batch was given back.
	Ops     int  // not answered yet
	Changes bool // some of them may change something

	// Requeue is called for a call that was proposed, but certainly not taken. It is nil for this node's own calls, which
	// are forwarded to the next leader.
	Requeue func(*Call)

	// Outcome is called once, if not nil, when it is known whether the call was carried out.
	Outcome func(applied bool)
}

// Settle calls Outcome.
func (c *Call) Settle(applied bool) {
	if outcome := c.Outcome; outcome != nil {
		c.Outcome = nil
		outcome(applied)
	}
}

// The states of a call.
const (
	stateWaiting = iota // nothing of it has left this node, nor will until it is marked as sent
	stateSent           // it is proposed, or on its way to the leader
	stateClaimed        // somebody answers it
)

// Send marks a waiting call as sent. It reports false for one that has been given up.
func (c *Call) Send() bool { return c.state.CompareAndSwap(stateWaiting, stateSent) }

// Unsend marks a call that was sent, but certainly not taken, as waiting again.
func (c *Call) Unsend() bool { return c.state.CompareAndSwap(stateSent, stateWaiting) }

// Claim makes the caller the party that answers, if nobody was yet. sent reports whether the call may have been
// decided.
func (c *Call) Claim() (won, sent bool) {
	before := c.state.Swap(stateClaimed)
	return before != stateClaimed, before == stateSent
}

// IsOpen reports whether nobody answers the call yet.
func (c *Call) IsOpen() bool { return c.state.Load() != stateClaimed }

// Fail answers a call with an error if nobody has answered it: with status if certainly nothing of it was decided, and
// otherwise with Uncertain. It returns the status of the answer, or OK if the call was answered already.
func (c *Call) Fail(status engine.Status) engine.Status {
	told := c.FailUnpublished(status)
	if told != engine.OK {
		c.Batch.Done()
	}
	return told
}

// FailUnpublished is Fail for a call whose batch nobody waits for yet.
func (c *Call) FailUnpublished(status engine.Status) engine.Status {
	won, sent := c.Claim()
	if !won {
		return engine.OK
	}
	if sent && c.Changes {
		status = engine.Uncertain
	}
	c.FillError(status)
	return status
}

// FillError fills in an error for all unanswered operations. The caller must have claimed the call, or not published
// it yet.
func (c *Call) FillError(status engine.Status) {
	c.Each(func(_ *engine.Op, res *engine.Result) { res.Status, res.Allowed = status, false })
}

// Each calls visit for every unanswered operation. The caller must have claimed the call, or not published it yet.
func (c *Call) Each(visit func(op *engine.Op, res *engine.Result)) {
	if c.Unanswered == nil {
		for i := range c.Batch.Ops {
			visit(&c.Batch.Ops[i], &c.Batch.Results[i])
		}
		return
	}
	for _, i := range c.Unanswered {
		visit(&c.Batch.Ops[i], &c.Batch.Results[i])
	}
}

// Summarize counts the unanswered operations, and notes whether any of them changes something, before the call is
// handed on.
func (c *Call) Summarize() {
	c.Ops, c.Changes = 0, false
	c.Each(func(op *engine.Op, _ *engine.Result) {
		c.Ops++
		c.Changes = c.Changes || op.Writes()
	})
}

// WaitList has the calls under way in the order in which they were added, so that slow calls can be expired.
type WaitList struct {
	mu     sync.Mutex
	calls  []*Call
	first  int
	closed bool
	looks  *clock.Task // of Expire
	asleep bool        // looks pauses until the next Add
}

// Add registers a call. It returns false after Close: then nobody would expire the call.
func (w *WaitList) Add(c *Call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	for w.first < len(w.calls) && !w.calls[w.first].IsOpen() {
		w.drop()
	}
	if w.first > 1024 && w.first > len(w.calls)/2 {
		n := copy(w.calls, w.calls[w.first:])
		clear(w.calls[n:])
		w.calls, w.first = w.calls[:n], 0
	}
	w.calls = append(w.calls, c)
	if w.asleep {
		w.asleep = false
		w.looks.Now()
	}
	return true
}

// Close removes and returns all open calls. Later calls are refused.
func (w *WaitList) Close() (open []*Call) {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	return w.Expired(math.MaxInt64)
}

func (w *WaitList) drop() {
	w.calls[w.first] = nil
	w.first++
}

// Oldest is when the first open call began; false if none is open.
func (w *WaitList) Oldest() (began time.Duration, any bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls[w.first:] {
		if c.IsOpen() {
			return c.Began, true
		}
	}
	return 0, false
}

// Expired removes and returns the open calls that began before a time.
func (w *WaitList) Expired(before time.Duration) (late []*Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.first < len(w.calls) && (!w.calls[w.first].IsOpen() || w.calls[w.first].Began < before) {
		if c := w.calls[w.first]; c.IsOpen() {
			late = append(late, c)
		}
		w.drop()
	}
	return late
}

// Expire calls expired for each open call that is older than a timeout, until ctx is done; ended waits for that. now is
// the clock of [Call.Began]. While no call is under way it sleeps.
func (w *WaitList) Expire(
	ctx context.Context, ended *sync.WaitGroup, timeout time.Duration, now func() time.Duration, expired func(*Call),
) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = clock.Repeat(ctx, ended, func(context.Context) time.Duration {
		if w.sleeps() {
			return clock.Never
		}
		for _, c := range w.Expired(now() - timeout) {
			expired(c)
		}
		return timeout / 50
	})
}

// sleeps has the next Add wake Expire, if there are no calls.
func (w *WaitList) sleeps() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asleep = w.first == len(w.calls)
	return w.asleep
}
