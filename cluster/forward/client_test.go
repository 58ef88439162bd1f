package forward

import (
	"testing"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

// FuzzAnswers has a client take in any bytes as answers.
func FuzzAnswers(f *testing.F) {
	var res engine.Result
	good := append(make([]byte, 8), 1, outcomeDecided)
	f.Add(opcodec.AppendResult(good, &res))
	f.Add(append(make([]byte, 8), 1, outcomeNotTaken))
	f.Fuzz(func(t *testing.T, b []byte) {
		fw := NewClient()
		fw.ObserveTime, fw.Fail = func(int64) {}, func(c *call.Call, status engine.Status) { c.Fail(status) }
		done := 0
		c := &call.Call{Batch: &engine.Batch{Ops: make([]engine.Op, 1), Results: make([]engine.Result, 1), Done: func() { done++ }}}
		c.Summarize()
		c.Send()
		r := &leaderConn{pending: map[uint64]*call.Call{1: c}, done: make(chan struct{}), drained: make(chan struct{})}
		_ = fw.readAnswers(r, b)
		fw.failPending(r)
		if done > 1 || done == 0 && len(fw.waiting) == 0 {
			t.Errorf("answered %d times, %d waiting", done, len(fw.waiting))
		}
	})
}
