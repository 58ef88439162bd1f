package purses

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

const second = int64(time.Second)

var limit = limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1000, Rate: limits.Rate{Tokens: 100, Period: second}}

func acquire(key string, tokens int64) *engine.Op {
	return &engine.Op{Verb: engine.Acquire, Key: []byte(key), Limit: limit, Tokens: tokens}
}

// warm asks for a key until an operation is due.
func warm(t *testing.T, table *Table, mono time.Duration, key string) *Operation {
	t.Helper()
	var res engine.Result
	for range hotAfter + 1 {
		if _, _, due := spend(table, mono, acquire(key, 1), &res); due != nil {
			return due
		}
	}
	t.Fatal("nothing is due")
	return nil
}

// spend is Spend, and the operation for a request that does not wait.
func spend(table *Table, mono time.Duration, op *engine.Op, res *engine.Result) (done, held bool, due *Operation) {
	if done, held, due = table.Spend(mono, 0, op, res); held && !done && due == nil {
		due = table.Due(mono, op)
	}
	return done, held, due
}

func lent(o *Operation, granted int64) *engine.Result {
	return &engine.Result{Granted: granted, Number: o.Loan.Number, Remaining: 500, Lent: o.Loan.Left + granted}
}

func newTable() *Table {
	table := New(100)
	table.SetAhead(time.Second)
	return table
}

func TestSpendAndRefund(t *testing.T) {
	table := newTable()
	var res engine.Result
	o := warm(t, table, 0, "k")
	if o.Tokens < leastWant || o.Loan.Previous != 0 || o.Loan.Left != 0 || o.Returning {
		t.Fatalf("%+v", o)
	}
	if done, held, due := spend(table, 0, acquire("k", 1), &res); done || !held || due != nil {
		t.Errorf("before the answer: %v, %v, %v", done, held, due)
	}
	table.Hear(0, 0, o, lent(o, 20), true)
	if done, _, _ := spend(table, 0, acquire("k", 3), &res); !done || !res.Allowed || res.Granted != 3 || res.Remaining != 517 || res.Limit != 1000 || res.Reset != 4830*int64(time.Millisecond) {
		t.Errorf("%v, %+v", done, res)
	}
	peek := acquire("k", 17)
	peek.Options = engine.Peek
	if done, _, _ := spend(table, 0, peek, &res); !done || table.Held() != 17 {
		t.Errorf("a peek: %v, and %d are left", done, table.Held())
	}
	refund := func(tokens int64) bool {
		return table.Refund(0, &engine.Op{Verb: engine.Refund, Key: []byte("k"), Tokens: tokens}, &res)
	}
	if refund(4) || !refund(2) || res.Granted != 2 || refund(2) || !refund(1) || table.Held() != 20 {
		t.Errorf("%d are left after refunds of 3", table.Held())
	}
	if done, _, _ := spend(table, 0, acquire("k", 21), &res); done {
		t.Error("21 of 20 tokens were granted")
	}
}

// While the outcome of an operation is not known, it is repeated as it was, and no more comes back than it has stated.
func TestUnknownOutcomeIsRepeated(t *testing.T) {
	table := newTable()
	var res engine.Result
	o := warm(t, table, 0, "k")
	table.Hear(0, 0, o, lent(o, 8), true)
	var next *Operation
	for range 4 {
		_, _, next = spend(table, time.Second, acquire("k", 1), &res)
		if next != nil {
			break
		}
	}
	if next == nil || next.Loan.Previous != o.Loan.Number {
		t.Fatalf("%+v", next)
	}
	left := next.Loan.Left
	spend(table, time.Second, acquire("k", 1), &res)
	if table.Refund(0, &engine.Op{Key: []byte("k"), Tokens: 2}, &res) {
		t.Error("a token came back that was stated as spent")
	}
	table.Hear(time.Second, 0, next, &engine.Result{Status: engine.Uncertain}, true)
	if due := table.Next(time.Second, false); len(due) != 0 {
		t.Error("it is repeated without a pause")
	}
	due := table.Next(time.Second+pauseAfterErr, false)
	if len(due) != 1 || due[0].Loan != next.Loan || due[0].Tokens != next.Tokens {
		t.Fatalf("%+v is repeated as %+v", next, due)
	}
	table.Hear(time.Second+pauseAfterErr, 0, due[0], lent(due[0], 5), true)
	if table.Held() != left-1+5 {
		t.Errorf("%d held", table.Held())
	}
	table.Hear(2*time.Second, 0, next, lent(next, 5), true) // late
	if table.Held() != left-1+5 {
		t.Errorf("%d held after a late answer", table.Held())
	}
}

// An operator has voided the loan: its tokens are gone, and those that were spent do not come back.
func TestVoidedLoanLeavesNothing(t *testing.T) {
	table := newTable()
	var res engine.Result
	o := warm(t, table, 0, "k")
	table.Hear(0, 0, o, lent(o, 8), true)
	_, _, next := spend(table, time.Second, acquire("k", 4), &res)
	if next == nil || table.Held() != 4 {
		t.Fatalf("%+v is due, and %d are held", next, table.Held())
	}
	table.Hear(time.Second, 0, next, &engine.Result{Number: 0}, true)
	if refunded := table.Refund(0, &engine.Op{Verb: engine.Refund, Key: []byte("k"), Tokens: 1}, &res); refunded || table.Held() != 0 {
		t.Errorf("%d are held of a loan that has ended; a refund into the purse: %v", table.Held(), refunded)
	}
}

func TestOtherLoanIsLearned(t *testing.T) {
	table := newTable()
	o := warm(t, table, 0, "k")
	table.Hear(0, 0, o, lent(o, 8), true)
	due := table.Next(silentAfter, false)
	if len(due) != 1 || !due[0].Returning || due[0].Loan.Left != 8 || table.Held() != 0 {
		t.Fatalf("%+v, %d held", due, table.Held())
	}
	table.Hear(silentAfter, 0, due[0], &engine.Result{Number: 7}, true) // the log names another operation
	due = table.Next(2*silentAfter, false)
	if len(due) != 1 || due[0].Loan.Previous != 7 || due[0].Loan.Left != 0 {
		t.Fatalf("%+v", due)
	}
	table.Hear(0, 0, due[0], &engine.Result{Granted: 0}, true)
	if due = table.Next(time.Minute, false); len(due) != 0 || table.Keys() != 0 {
		t.Errorf("%v due, %d keys", due, table.Keys())
	}
}

func TestKeysAreBounded(t *testing.T) {
	table := newTable()
	for i := range MaxKeys + 100 {
		op := acquire(fmt.Sprint(i), 1)
		for range hotAfter + 1 {
			spend(table, 0, op, &engine.Result{})
		}
	}
	if keys := table.Keys(); keys > MaxKeys || keys < MaxKeys-100 {
		t.Errorf("%d keys", keys)
	}
}

// A holder never has more tokens than the engine counts for it, whichever operations and answers are lost, late or
// repeated.
func TestNeverMoreThanLent(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		store := store.New(store.Config{Shards: 4})
		table, mono := newTable(), time.Duration(0)
		var late []*Operation
		var res engine.Result
		carryOut := func(o *Operation) *engine.Result {
			results := make([]engine.Result, 1)
			store.Apply(int64(mono)+second, []engine.Op{o.Op([]byte("h"))}, results)
			return &results[0]
		}
		send := func(o *Operation) {
			switch r.IntN(8) {
			case 0: // it is lost, or comes later
				late = append(late, o)
				table.Hear(mono, 0, o, &engine.Result{Status: engine.Uncertain}, true)
			case 1: // its answer is lost
				carryOut(o)
				table.Hear(mono, 0, o, &engine.Result{Status: engine.Uncertain}, true)
			case 2: // it comes twice
				late = append(late, o)
				table.Hear(mono, 0, o, carryOut(o), true)
			default:
				table.Hear(mono, 0, o, carryOut(o), true)
			}
		}
		for range 3000 {
			mono += time.Duration(r.Int64N(int64(4 * time.Millisecond)))
			switch n := r.IntN(100); {
			case n < 80:
				if _, _, due := spend(table, mono, acquire("k", 1+r.Int64N(3)), &res); due != nil {
					send(due)
				}
			case n < 85:
				table.Refund(0, &engine.Op{Key: []byte("k"), Tokens: 1 + r.Int64N(3)}, &res)
			case n < 90 && len(late) > 0:
				carryOut(late[r.IntN(len(late))])
			case n == 90:
				mono += time.Duration(r.Int64N(int64(time.Second)))
			case n == 91:
				store.Apply(int64(mono)+second, []engine.Op{{Verb: engine.Void, Key: []byte("k"), Who: []byte("h"), Options: engine.Force}}, make([]engine.Result, 1))
				table.Drop()
			default:
				for _, o := range table.Next(mono, n == 92) {
					send(o)
				}
			}
			lent := int64(0)
			for i := range store.Shards() {
				store.ScanLoans(i, func(_, _ []byte, tokens int64) { lent += tokens })
			}
			if held := table.Held(); held > lent {
				t.Fatalf("seed %d: %d held, %d lent", seed, held, lent)
			}
		}
		if table.Lends.Load() < 10 || table.Decisions.Load() < 100 {
			t.Fatalf("seed %d: %d operations, %d decisions", seed, table.Lends.Load(), table.Decisions.Load())
		}
		store.Close()
	}
}

// Each group of a cluster has a table: until a key is asked for it has no counters.
func TestEmptyTableIsSmall(t *testing.T) {
	table := New(0)
	for i := range table.hot {
		if table.hot[i].slots != nil {
			t.Error("an empty table has counters")
		}
	}
	if size := unsafe.Sizeof(*table); size > 8<<10 {
		t.Errorf("an empty table has %d bytes", size)
	}
}
