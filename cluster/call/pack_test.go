package call

import (
	"testing"

	"github.com/stintdb/stint/engine"
)

// Reads in order reach the leader as operations between which nothing may come: it answers these in the log, never from
// its applied state.
func TestReadsInOrderAreForwardedTogether(t *testing.T) {
	look := engine.Op{Verb: engine.Look, Key: []byte("k")}
	for _, ops := range [][]engine.Op{{look}, {look, look, look}} {
		for _, inOrder := range []bool{false, true} {
			c := &Call{Batch: &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), InOrder: inOrder}}
			status := c.Pack()
			g, _, err := NextGroup(c.Group)
			if status != engine.OK || err != nil {
				t.Fatal(status, err)
			}
			if together := g.Atomic && g.Count > 1; together != inOrder {
				t.Errorf("%d reads, in order %v: forwarded together %v", len(ops), inOrder, together)
			}
			answered := map[*engine.Result]bool{}
			c.Each(func(_ *engine.Op, res *engine.Result) { answered[res] = true })
			if len(answered) != len(ops) {
				t.Errorf("%d of %d reads are answered", len(answered), len(ops))
			}
			if c.Batch.Atomic {
				t.Error("the batch was changed")
			}
		}
	}
}
