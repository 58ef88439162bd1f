package algorithm

import (
	"fmt"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// lend carries out an operation on the loans of a key, as the keyspace does.
func (l *took) lend(now int64, op *engine.Op) string {
	var c Call
	var res engine.Result
	c.Begin(now, op, &res)
	if l.state != nil {
		c.Open(&l.limit, l.state)
	}
	if !c.Wrapped {
		c.Wrap()
		c.Inner = [layout.MaxLentState]byte{}
		copy(c.Inner[:], c.State)
	}
	if c.DecideLoan(layout.MaxLoans) {
		limit, state := c.WrappedState(c.Inner[:])
		l.limit, l.state = limit, append([]byte(nil), state...)
	}
	if res.Status != engine.OK {
		return fmt.Sprintf("status %d, %d held", res.Status, res.Lent)
	}
	return fmt.Sprintf("%d, %d held by number %d, %d left", res.Granted, res.Lent, res.Number, res.Remaining)
}

// Tokens that are lent are gone for all others until the holder gives them back, or says that they are spent, or their
// time is over.
func TestLoans(t *testing.T) {
	const began = 1_700_000_000 * int64(s)
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 80, Rate: limits.Rate{Tokens: 1, Period: int64(s)}}
	op := func(verb engine.Verb, who string, loan engine.Loan) engine.Op {
		return engine.Op{Verb: verb, Key: []byte("key"), Who: []byte(who), Limit: limit, Tokens: 100, Loan: &loan}
	}
	lease := op(engine.Lend, "c", engine.Loan{Number: 7})
	lease.MaxWait, lease.Tokens = int64(10*s), 3
	returned := op(engine.Return, "a", engine.Loan{Number: 4, Previous: 3, Left: 5})
	void := op(engine.Void, "b", engine.Loan{Number: 6, Previous: 2})
	void.Options = engine.Force
	acquire := engine.Op{Verb: engine.Acquire, Key: []byte("key"), Limit: limit, Tokens: 60}
	var l took
	for i, c := range []struct {
		at   time.Duration
		op   engine.Op
		want string
	}{
		{0, op(engine.Lend, "a", engine.Loan{Number: 1}), "10, 10 held by number 1, 70 left"}, // an eighth
		{0, op(engine.Lend, "a", engine.Loan{Number: 1}), "10, 10 held by number 1, 70 left"}, // sent again
		{0, op(engine.Lend, "b", engine.Loan{Number: 2}), "8, 8 held by number 2, 62 left"},
		{0, acquire, "granted, 2 left, full in 1m0s"},
		{0, op(engine.Lend, "a", engine.Loan{Number: 3, Previous: 1, Left: 6}), "0, 6 held by number 3, 2 left"},                  // four are spent
		{0, op(engine.Lend, "a", engine.Loan{Number: 9, Previous: 1, Left: 6}), "0, 6 held by number 3, 2 left"},                  // comes late
		{0, op(engine.Lend, "a", engine.Loan{Number: 9, Previous: 3, Left: 7}), fmt.Sprintf("status %d, 6 held", engine.NotHeld)}, // more than it has
		{0, returned, "5, 0 held by number 0, 7 left"},
		{0, void, "8, 0 held by number 0, 7 left"}, // as spent
		{60 * s, lease, "3, 3 held by number 7, 64 left"},
		{69 * s, lease, "3, 3 held by number 7, 73 left"},
		{71 * s, acquire, "granted, 15 left, full in 1m5s"}, // the three were spent at 70 s
	} {
		got := ""
		if c.op.Verb == engine.Acquire {
			got = l.ask(began+int64(c.at), &c.op)
		} else {
			got = l.lend(began+int64(c.at), &c.op)
		}
		if got != c.want {
			t.Errorf("step %d: %s; want %s", i, got, c.want)
		}
	}
}
