package purses

import (
	"testing"
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
)

// waiter is a call of requests for one token each.
func waiter(requests int) *Waiter {
	b := &engine.Batch{Results: make([]engine.Result, requests), Done: func() {}}
	for range requests {
		b.Ops = append(b.Ops, *acquire("k", 1))
	}
	c := &call.Call{Batch: b}
	c.Summarize()
	return &Waiter{Call: c, Op: b.Ops[0], Requests: int64(requests)}
}

func allowed(w *Waiter) (n int) {
	for i := range w.Call.Batch.Results {
		if res := &w.Call.Batch.Results[i]; res.Status == engine.OK && res.Allowed && res.Granted == 1 {
			n++
		}
	}
	return n
}

// hot is a table whose key is in demand, and has no tokens nor an operation.
func hot() *Table {
	table := newTable()
	for range hotAfter + 1 {
		table.Spend(0, 0, acquire("k", 1), &engine.Result{})
	}
	return table
}

func wait(t *testing.T, table *Table, w *Waiter) (due *Operation) {
	t.Helper()
	waits, due := table.Wait(0, w)
	if !waits {
		t.Fatal("the call does not wait")
	}
	return due
}

func TestWaitingCallsShareOneLend(t *testing.T) {
	table := hot()
	first, second, third, late := waiter(1), waiter(3), waiter(2), waiter(1)
	o := wait(t, table, first)
	if o == nil || o.Loan.Waiting != 1 || o.Loan.Each != 1 || o.Tokens < leastWant {
		t.Fatalf("%+v", o)
	}
	if wait(t, table, second) != nil || wait(t, table, third) != nil || wait(t, table, late) != nil {
		t.Fatal("a second operation is due")
	}
	served, next := table.Hear(0, 0, o, &engine.Result{Granted: 1 + 3, Lent: 3, Number: o.Loan.Number}, true)
	if len(served.Answered) != 2 || allowed(first) != 1 || allowed(second) != 3 || table.Held() != 0 {
		t.Errorf("%d calls answered, %d and %d requests granted, %d held", len(served.Answered), allowed(first), allowed(second), table.Held())
	}
	if next == nil || next.Loan.Waiting != 3 || next.Loan.Left != 0 {
		t.Fatalf("%+v", next)
	}
	late.Call.Claim() // its time is over
	served, next = table.Hear(0, 0, next, &engine.Result{Granted: 1, Wait: 7, Reset: 9, Number: 0}, true)
	if len(served.Answered) != 1 || next != nil || allowed(third) != 1 || allowed(late) != 0 {
		t.Errorf("%+v, %+v", served, next)
	}
	if res := third.Call.Batch.Results[1]; res.Allowed || res.Wait != 7 || res.Reset != 9 || res.Limit != limit.Capacity || res.Remaining != 0 {
		t.Errorf("a denial: %+v", res)
	}
	if table.Held() != 0 {
		t.Errorf("%d tokens are held that were granted to a call that is over", table.Held())
	}
}

func TestWaitingCallsWithoutAnOutcome(t *testing.T) {
	for status, inLog := range map[engine.Status]int{engine.Uncertain: 1, engine.NoLeader: 1, engine.OutOfRoom: 2} {
		table := hot()
		joined, other := waiter(2), waiter(1)
		o := wait(t, table, joined)
		wait(t, table, other)
		served, due := table.Hear(0, 0, o, &engine.Result{Status: status}, true)
		if len(served.ForLog) != inLog || len(served.Answered) != 2-inLog || due != nil {
			t.Errorf("%v: %+v", status, served)
		}
		if got := joined.Call.Batch.Results[1].Status; inLog == 1 && (got != status || joined.Failed != status) {
			t.Errorf("%v is answered with %v", status, got)
		}
		if waits, _ := table.Wait(0, waiter(1)); waits {
			t.Errorf("%v: a call waits while the key is held back", status)
		}
	}
}

func TestCallsThatDoNotWait(t *testing.T) {
	table := hot()
	wait(t, table, waiter(1))
	two := waiter(1)
	two.Op.Tokens = 2
	wait(t, table, waiter(1))
	if waits, _ := table.Wait(0, two); waits {
		t.Error("calls for different amounts wait together")
	}
	for range maxWaiting/64 - 1 {
		wait(t, table, waiter(64))
	}
	if waits, _ := table.Wait(0, waiter(64)); waits {
		t.Error("the calls that wait have no bound")
	}
	other := waiter(1)
	other.Op.Limit.Capacity++
	if waits, due := table.Wait(time.Second, other); waits || due != nil {
		t.Error("a call with another limit waits")
	}
}

// A Lend that brings too little delays the next one, which takes all requests that wait by then.
func TestLendsOfAScarceKeyAreApart(t *testing.T) {
	table := hot()
	first := wait(t, table, waiter(1))
	if first == nil || first.Delay != 0 {
		t.Fatalf("%+v", first)
	}
	if wait(t, table, waiter(3)) != nil {
		t.Fatal("a second operation is due")
	}
	const later = lendsApart / 3
	_, next := table.Hear(later, 0, first, &engine.Result{Granted: 1, Wait: 7}, true)
	if next == nil || next.Delay != lendsApart-later || next.Loan.Waiting != 0 {
		t.Fatalf("%+v", next)
	}
	if wait(t, table, waiter(2)) != nil {
		t.Fatal("an operation is due while one is delayed")
	}
	table.Join(lendsApart, next)
	if next.Loan.Waiting != 5 || next.Loan.Each != 1 {
		t.Errorf("%+v", next.Loan)
	}
	enough := engine.Result{Granted: 5 + next.Tokens, Lent: next.Loan.Left + next.Tokens, Number: next.Loan.Number}
	table.Hear(lendsApart+later, 0, next, &enough, true)
	var res engine.Result
	done, _, due := table.Spend(lendsApart+later, 0, acquire("k", next.Tokens), &res)
	if !done || due == nil || due.Delay != 0 {
		t.Errorf("with enough tokens: %v, %+v", done, due)
	}
}
