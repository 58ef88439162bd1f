package allowance

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/engine"
)

func callOf(ops []engine.Op, done func()) *call.Call {
	c := &call.Call{Batch: &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Done: done}}
	c.Summarize()
	return c
}

// No operation on a key is queued before the Carry that hands over the tokens taken of it, even if another call queues that one. It would find a key without a
// limiter, and begin one in which the whole allowance was taken at that moment.
func TestCarryIsQueuedFirst(t *testing.T) {
	s, term, now := open(t)
	s.Term.Store(term)
	var many []engine.Op // between the decision that the first key needs a Carry and its queuing
	for i := range 2000 {
		op := part(fmt.Sprint("key", i), 1)
		op.Verb = engine.Acquire
		if !s.Decide(term, now, &op, &engine.Result{}) {
			t.Fatal("nothing is taken")
		}
		many = append(many, op)
	}
	isCarried := func() bool {
		s.carriedMu.Lock()
		defer s.carriedMu.Unlock()
		_, is := s.carried["key0"]
		return is
	}
	p := propose.New(propose.Config{CountFailure: func(engine.Status) {}})
	ended := 0
	queue := func(ops []engine.Op) {
		c := callOf(ops, func() { // in the order of the queue; a Carry that has ended is not on its way
			if ended++; isCarried() {
				t.Errorf("a call of %d operations is queued before the Carry", len(ops))
			}
		})
		if status := s.Queue(p, c, c.Batch, nil); status != engine.OK {
			t.Error(status)
		}
	}
	second := []engine.Op{many[0]}
	var first sync.WaitGroup
	first.Go(func() { queue(many) })
	for !isCarried() {
		runtime.Gosched()
	}
	queue(second)
	first.Wait()
	p.Halt()
	if ended != 2 {
		t.Errorf("%d calls have ended", ended)
	}
}
