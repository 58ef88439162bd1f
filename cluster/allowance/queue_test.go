package allowance

import (
	"slices"
	"testing"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

func callOf(ops []engine.Op, done func()) *call.Call {
	c := &call.Call{Batch: &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Done: done}}
	c.Summarize()
	return c
}

// An operation is queued after a Carry of the tokens taken from its key, also while another operation's Carry is under
// way, because that may be lost.
func TestEachOperationIsQueuedBehindItsCarry(t *testing.T) {
	s, term, now := open(t)
	s.Term.Store(term)
	op := part("k", 1)
	op.Verb = engine.Acquire
	if !s.Decide(term, now, &op, &engine.Result{}) {
		t.Fatal("nothing is taken")
	}
	var verbs []engine.Verb
	p := propose.New(propose.Config{Requeue: func(c *call.Call) {
		g, _, err := call.NextGroup(c.Group)
		if err != nil {
			t.Fatal(err)
		}
		ops, err := call.ReadGroup(&opcodec.Reader{}, g, nil)
		if err != nil || len(ops) != 1 || ops[0].PriorAt == now && ops[0].Verb != engine.Carry {
			t.Fatalf("%+v, %v", ops, err)
		}
		verbs = append(verbs, ops[0].Verb)
	}})
	for range 3 {
		c := callOf([]engine.Op{op}, func() {})
		if status := s.Queue(p, c, c.Batch, nil); status != engine.OK {
			t.Error(status)
		}
	}
	p.Expel()
	if !slices.Equal(verbs, slices.Repeat([]engine.Verb{engine.Carry, engine.Acquire}, 3)) {
		t.Errorf("queued are %v", verbs)
	}
}
