package forward

import (
	"bytes"
	"testing"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

// listing is a call whose answer has n lists of ten holders.
func listing(lists int) *forwardedCall {
	r := &forwardedCall{conn: &followerConn{server: &Server{}, wake: make(chan struct{}, 1)}}
	for range lists {
		res := engine.Result{}
		for range 10 {
			res.Leases = append(res.Leases, engine.Lease{Holder: bytes.Repeat([]byte("h"), 200), Remaining: 5})
		}
		r.batch.Results = append(r.batch.Results, res)
	}
	return r
}

// replying is a call whose answer has n long replies; with changes, of operations that changed something.
func replying(n int, changes int64) *forwardedCall {
	r := &forwardedCall{}
	for range n {
		r.batch.Results = append(r.batch.Results, engine.Result{Granted: changes, Reply: make([]byte, longReply)})
	}
	return r
}

// An answer that would not fit a frame is sent without its lists, or in the end as unknown: never as a frame that the
// other node refuses, with everybody else's answers in it.
func TestLongAnswersFitAFrame(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer *forwardedCall
		most   int
		status engine.Status
	}{
		{"fits", listing(3), 1 << 20, engine.OK},
		{"lists are too long", listing(30), 10 << 10, engine.ListTooLong},
		{"replies fit", replying(3, 1), 4 * longReply, engine.OK},
		{"replies are too long", replying(3, 0), 2 * longReply, engine.TooBig},
		{"replies to changes are too long", replying(3, 1), 2 * longReply, engine.Uncertain},
		{"everything is too long", &forwardedCall{batch: engine.Batch{Results: make([]engine.Result, 300)}}, 1000, engine.Uncertain},
	} {
		frame := tt.answer.appendResults(nil, tt.most)
		if tt.status != engine.Uncertain && len(frame) > tt.most {
			t.Errorf("%s: %d bytes", tt.name, len(frame))
		}
		for i := range tt.answer.batch.Results {
			var res engine.Result
			var err error
			if frame, err = opcodec.ReadResult(frame, &res); err != nil || res.Status != tt.status {
				t.Fatalf("%s: result %d: %v, status %d", tt.name, i, err, res.Status)
			}
		}
		if len(frame) > 0 || tt.answer.batch.Results[0].Leases != nil {
			t.Errorf("%s: %d bytes are left, lists %v", tt.name, len(frame), tt.answer.batch.Results[0].Leases != nil)
		}
	}
}

// Long answers to a node that does not take them are dropped, and nothing more is read from it.
func TestLongAnswersDoNotPileUp(t *testing.T) {
	l := &followerConn{server: &Server{}, wake: make(chan struct{}, 1)}
	answers := 0
	for range 2 * maxReadyBytes / (1000 * 2320) {
		r := listing(1000)
		r.conn, l.inFlight = l, 1
		if r.answered(); r.batch.Results[0].Leases != nil {
			answers++
		}
	}
	r := replying(1, 0)
	r.conn, l.inFlight = l, 1
	if r.answered(); r.batch.Results[0].Status != engine.TooBig {
		t.Error("a long reply waits too")
	}
	if l.bytes > maxReadyBytes+1000*2320 || answers == 0 || !l.isFull.Load() {
		t.Errorf("%d bytes wait, %d answers kept their lists, full: %t", l.bytes, answers, l.isFull.Load())
	}
}

// A call that only reads is not sent again for ever.
func TestResendsAreBounded(t *testing.T) {
	told := make(chan struct{}, 1)
	b := &engine.Batch{Ops: []engine.Op{{Verb: engine.Leases, Key: []byte("k")}}, Results: make([]engine.Result, 1), Done: func() { told <- struct{}{} }}
	c := &call.Call{Batch: b}
	c.Summarize()
	f := NewClient()
	f.Fail = func(c *call.Call, status engine.Status) { c.Fail(status) }
	sent := 0
	for ; sent < 100 && c.IsOpen() && c.Send(); sent++ {
		f.failPending(&leaderConn{pending: map[uint64]*call.Call{1: c}})
		f.waiting = nil
	}
	if <-told; sent != maxResends+1 || b.Results[0].Status != engine.NoLeader {
		t.Errorf("sent %d times, status %d", sent, b.Results[0].Status)
	}
}
