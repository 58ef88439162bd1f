package algorithm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// step is a request at a time after the first one, and what its answer says.
type step struct {
	at     time.Duration
	tokens int64
	want   string
	who    string // the holder of a lease, the member of a fair share
	weight int64  // of the member, 0 for 1
	report *engine.Report
}

// took is a limiter on which the steps of a table are taken, one after the other: a state, without a store around it.
type took struct {
	limit limits.Limit
	state []byte
}

// testSteps asks a new limiter at the times of the steps.
func testSteps(t *testing.T, limit limits.Limit, steps []step) {
	t.Helper()
	const began = 1_700_000_000 * int64(time.Second)
	var l took
	for i, s := range steps {
		now := began + int64(s.at)
		if s.report != nil {
			if got := l.hear(now, s.report); got != s.want {
				t.Errorf("step %d, a report after %v: %s; want %s", i, s.at, got, s.want)
			}
			continue
		}
		op := engine.Op{Verb: engine.Acquire, Key: []byte("key"), Limit: limit, Tokens: s.tokens, Who: []byte(s.who), Weight: s.weight}
		if got := l.ask(now, &op); got != s.want {
			t.Errorf("step %d, %d tokens after %v: %s; want %s", i, s.tokens, s.at, got, s.want)
		}
	}
}

// ask decides one request and keeps the state if it changes.
func (l *took) ask(now int64, op *engine.Op) string {
	var c Call
	var res engine.Result
	c.Begin(now, op, &res)
	if l.state != nil {
		c.Open(&l.limit, l.state)
	}
	if changed := c.Ask(); changed {
		l.keep(&c)
	}
	switch {
	case res.Status != engine.OK:
		return fmt.Sprintf("status %d", res.Status)
	case res.Allowed && res.Wait > 0:
		return fmt.Sprintf("granted after %v, %d left, full in %v", time.Duration(res.Wait), res.Remaining, time.Duration(res.Reset))
	case res.Allowed:
		return fmt.Sprintf("granted, %d left, full in %v", res.Remaining, time.Duration(res.Reset))
	case res.Wait == engine.NeverWait:
		return fmt.Sprintf("denied, %d left, never", res.Remaining)
	}
	return fmt.Sprintf("denied, %d left, wait %v", res.Remaining, time.Duration(res.Wait))
}

func (l *took) keep(c *Call) {
	if c.Wrapped {
		limit, state := c.WrappedState(c.Next[:])
		l.limit, l.state = limit, slices.Clone(state)
		return
	}
	state := make([]byte, c.Size())
	if row := &Table[c.Limit.Algorithm]; row.Bytes != 0 {
		copy(state, c.Next[:])
	} else {
		if !c.IsNew {
			copy(state, l.state)
		}
		layout.SetVariableSize(state, len(state))
		row.Write(c, state)
	}
	l.limit, l.state = c.Limit, state
}

// hear takes a report on the backend of an adaptive limiter, and returns its rate.
func (l *took) hear(now int64, report *engine.Report) string {
	var c Call
	var res engine.Result
	c.Begin(now, &engine.Op{Verb: engine.Adapt, Key: []byte("key"), Report: report}, &res)
	c.Open(&l.limit, l.state)
	a := c.Adaptive(&c.Prev)
	before := a.PresentRate(&c.Prev)
	a.Hear(report, &c.Prev, now)
	after := a.PresentRate(&c.Prev)
	state := slices.Clone(l.state)
	layout.MeterAfter(now, layout.CarryOver(layout.LoadMeter(l.state).Taken(now, before), before, after), after).Store(state)
	a.Store(state)
	l.state = state
	return string(after.AppendPerSecond(nil)) + " a second"
}
