package store

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/transaction"
)

// An entry with loans can be loaded again, whatever its limit.
func TestLoansOfEveryLimitLoad(t *testing.T) {
	for _, limit := range []limits.Limit{slow, {Algorithm: limits.GCRA, Capacity: 100, Rate: limits.Rate{Tokens: 7, Period: sec}}, {Algorithm: limits.FixedWindow, Capacity: 100, Rate: limits.Rate{Tokens: 0, Period: sec}},
		{Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 100, Rate: limits.Rate{Tokens: 0, Period: sec}}, {Algorithm: limits.FixedWindow, Span: limits.EachMonth, Capacity: 100}} {
		s, other := New(Config{Shards: 1}), New(Config{Shards: 1})
		ask(s, epoch, lend("a", limit, 10, 1, 0, 0))
		s.Scan(0, 10, epoch, func(e keyspace.Entry) {
			if err := other.Load(epoch, e); err != nil {
				t.Errorf("%v: %v", limit, err)
			}
		})
		if s.Digest(epoch) != other.Digest(epoch) {
			t.Errorf("%v: another state was loaded", limit)
		}
		s.Close()
		other.Close()
	}
}

// lookInTx answers a command with a look at its key.
type lookInTx struct{ txSteps }

func (lookInTx) Run(tx *transaction.Tx, op *engine.Op, res *engine.Result) {
	tx.Apply(&engine.Op{Verb: engine.Look, Key: op.Args[0]}, res)
}

func TestScriptSeesLoans(t *testing.T) {
	s := New(Config{Shards: 1, Commands: lookInTx{}})
	defer s.Close()
	ask(s, epoch, lend("a", slow, 10, 1, 0, 0))
	if res := ask(s, epoch, engine.Op{Verb: engine.Command, Args: [][]byte{[]byte("k")}, KeyCount: 1}); res.Lent != 10 || res.Remaining != 90 {
		t.Errorf("%+v", res)
	}
}

// A Flush leaves loans also if the bound on memory is lower than their keys need, and a snapshot keeps the state
// before.
func TestFlushKeepsLoansBeyondTheBound(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	const keys = 1000
	for i := range keys {
		op := lend("a", slow, 10, 1, 0, 0)
		op.Key = keyOf(i)
		ask(s, epoch, engine.Op{Key: op.Key, Limit: slow, Tokens: 4})
		ask(s, epoch, op)
	}
	f, before := s.Snapshot(), s.Digest(epoch)
	s.SetMaxBytes(1000)
	ask(s, epoch, engine.Op{Verb: engine.Flush})
	if n := s.LentKeys(); n != keys {
		t.Errorf("%d of %d keys are lent", n, keys)
	}
	s.SetMaxBytes(0)
	other := New(Config{Shards: 1})
	defer other.Close()
	f.Scan(epoch, func(e keyspace.Entry) {
		if err := other.Load(epoch, e); err != nil {
			t.Error(err)
		}
	})
	f.Release()
	if other.Digest(epoch) != before {
		t.Error("the snapshot differs from the state before")
	}
	for i := range keys {
		if res := ask(s, epoch, engine.Op{Verb: engine.Look, Key: keyOf(i)}); res.Lent != 10 || res.Remaining != 90 {
			t.Fatalf("key %d: %+v", i, res)
		}
	}
}
