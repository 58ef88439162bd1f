package forward

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

// FuzzAnswers gives a client any bytes as answers.
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

// A node that leads, or knows no leader, looks seldom for another one, but decides a call at once.
func TestLooksForALeaderAreSeldomWithoutCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks, decided := 0, make(chan time.Time, 1)
		var leads atomic.Bool
		f := NewClient()
		f.LeaderChanged = &notifier.Notifier{}
		f.Leader = func() string { looks++; return "" }
		f.Decide = func(*call.Call) bool {
			if !leads.Load() {
				return false
			}
			decided <- time.Now()
			return true
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go f.Run(ctx)
		time.Sleep(time.Minute)
		synctest.Wait()
		if most := int(time.Minute/idleLook) + 1; looks > most {
			t.Errorf("%d looks in a minute without calls, at most %d", looks, most)
		}
		if !f.Add(&call.Call{}) {
			t.Fatal("refused")
		}
		time.Sleep(time.Second) // no leader is known
		synctest.Wait()
		leads.Store(true)
		became := time.Now()
		if wait := (<-decided).Sub(became); wait > redialDelay {
			t.Errorf("a call that was there waited for %v", wait)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		added := time.Now()
		f.Add(&call.Call{})
		if wait := (<-decided).Sub(added); wait > 0 {
			t.Errorf("a call waited for %v", wait)
		}
	})
}

// Calls wait for a leader. When none was reached for longer than an election takes, they are answered at once, until
// there is one: requests for other groups wait for the answers.
func TestCallsDoNotWaitForALostLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const patience = 5 * time.Second
		var leads atomic.Bool
		f := NewClient()
		f.LeaderChanged, f.Patience, f.Leads = &notifier.Notifier{}, patience, leads.Load
		f.Leader = func() string { return "" }
		f.Fail = func(c *call.Call, status engine.Status) { c.Fail(status) }
		f.Decide = func(c *call.Call) bool {
			if !leads.Load() {
				return false
			}
			if mine, _ := c.Claim(); mine {
				c.Batch.Done()
			}
			return true
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go f.Run(ctx)
		ask := func() (status engine.Status, took time.Duration) {
			began, done := time.Now(), make(chan struct{})
			c := &call.Call{Batch: &engine.Batch{Ops: make([]engine.Op, 1), Results: make([]engine.Result, 1), Done: func() { close(done) }}}
			c.Summarize()
			f.Add(c)
			select {
			case <-done:
			case <-time.After(time.Second): // as --decide-timeout
				c.Fail(engine.NoLeader)
				<-done
			}
			return c.Batch.Results[0].Status, time.Since(began)
		}
		for range patience / time.Second {
			if _, took := ask(); took < time.Second {
				t.Fatalf("a call waited for %v, while there may be an election", took)
			}
		}
		time.Sleep(time.Minute)
		for range 3 {
			if status, took := ask(); status != engine.NoLeader || took > 2*redialDelay {
				t.Errorf("status %d after %v, without a leader", status, took)
			}
		}
		leads.Store(true)
		if status, took := ask(); status != engine.OK || took > redialDelay {
			t.Errorf("status %d after %v, by the new leader", status, took)
		}
		time.Sleep(time.Minute)
		leads.Store(false)
		if _, took := ask(); took < time.Second {
			t.Errorf("a call waited for %v after the leader was lost", took)
		}
	})
}
