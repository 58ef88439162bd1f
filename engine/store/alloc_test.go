//go:build !race

// The race detector makes sync.Pool drop items at random, so code under it allocates.

package store

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

func TestApplyDoesNotAllocate(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	ops, results := make([]engine.Op, 64), make([]engine.Result, 64)
	for i := range ops {
		ops[i] = engine.Op{Key: keyOf(i), Limit: bucket(1_000_000, 1, sec), Tokens: 1}
	}
	s.Apply(epoch, ops, results)
	now := epoch
	if n := testing.AllocsPerRun(1000, func() { now++; s.Apply(now, ops, results) }); n != 0 {
		t.Errorf("%v allocations for 64 decisions", n)
	}
}

func TestWideOpsDoNotAllocate(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	parts := []engine.Op{}
	for i := range 3 {
		parts = append(parts, engine.Op{Key: keyOf(i), Limit: bucket(1_000_000, 1, sec), Tokens: 1})
	}
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{{Key: []byte("u:{}"), Limit: bucket(1_000_000, 1, sec)}}})
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Options: engine.NamedFields, Key: []byte("f"), Parts: []engine.Op{{Key: []byte("{tenant}:{}:{{"), Limit: bucket(1_000_000, 1, sec)}, {Key: []byte("{model}"), Limit: bucket(1_000_000, 1, sec)}}})
	priced := []engine.Op{{Key: keyOf(4), Limit: bucket(1_000_000_000, 1, sec), Tokens: 2, Options: engine.FixedCost, Keep: engine.KeepTokens(5)}, {Key: keyOf(5), Limit: bucket(10, 1, sec), Options: engine.FixedCost},
		{Key: keyOf(6), Limit: limits.Limit{Algorithm: limits.LeakyQueue, Capacity: 1_000_000, Rate: limits.Rate{Tokens: 1000, Period: sec}}, Tokens: 1}}
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("priced"), Parts: []engine.Op{{Key: []byte("v:{}"), Limit: bucket(1_000_000_000, 1, sec), Tokens: 8, Options: engine.FixedCost, Keep: engine.KeepPercent(12_500)}, {Key: []byte("w:{}"), Limit: bucket(1_000_000, 1, sec)}}})
	ops := []engine.Op{{Verb: engine.AcquireAll, Parts: parts}, {Verb: engine.AcquireAll, Parts: priced, Tokens: 1}, {Verb: engine.Check, Key: []byte("priced"), Who: []byte("x"), Tokens: 1, Keep: engine.KeepPercent(50_000)},
		{Verb: engine.Check, Key: []byte("p"), Who: []byte("x"), Tokens: 1},
		{Verb: engine.Check, Options: engine.NamedFields, Key: []byte("f"), Who: []byte("x:y"), Tokens: 1, Args: fields("model", "50%", "tenant", "acme")}}
	results := make([]engine.Result, len(ops))
	s.Apply(epoch, ops, results)
	now := epoch
	if n := testing.AllocsPerRun(1000, func() { now++; s.Apply(now, ops, results) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestReservationsDoNotAllocate(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	window := engine.Op{Key: []byte("fw"), Limit: limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1_000_000, Rate: limits.Rate{Tokens: 0, Period: sec}}, Tokens: 2}
	log := engine.Op{Key: []byte("sl"), Limit: limits.Limit{Algorithm: limits.SlidingLog, Capacity: 1_000_000, Rate: limits.Rate{Tokens: 0, Period: sec}}, Tokens: 2}
	cut := engine.Op{Key: []byte("sw"), Limit: limits.Limit{Algorithm: limits.SlidingSegments, Segments: 120, Capacity: 1_000_000, Rate: limits.Rate{Period: sec}}, Tokens: 2}
	several := reservationOfThree(1)
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{{Key: []byte("u:{}"), Limit: bucket(1_000_000, 1, sec)}}})
	check := engine.Op{Verb: engine.Check, Key: []byte("p"), Who: []byte("x"), Tokens: 3}
	ops := []engine.Op{reserveOne("a", window), reserveOne("a", window), reserveOne("b", log), reserveOne("e", cut), reserveOne("c", check), several, several}
	for _, id := range []string{"a", "b", "c", "e", string(keyOf(1))} {
		ops = append(ops, settleAt(id, 1), settleAt(id, 1), cancelOf(id), engine.Op{Verb: engine.Delete, Key: []byte(id)})
	}
	more := reserveOne("d", check)
	ops = append(ops, more, settleAt("d", 9), engine.Op{Verb: engine.Delete, Key: []byte("d")}, more, cancelOf("d"), cancelOf("d"), engine.Op{Verb: engine.Delete, Key: []byte("d")})
	results := make([]engine.Result, len(ops))
	now := epoch
	for range 100 {
		now += sec
		s.Apply(now, ops, results)
	}
	for i := range results {
		if st := results[i].Status; st != engine.OK && st != engine.SettledOtherwise {
			t.Fatalf("operation %d: %+v", i, results[i])
		}
	}
	if n := testing.AllocsPerRun(1000, func() { now += sec; s.Apply(now, ops, results) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFairSharesDoNotAllocate(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	ops := make([]engine.Op, 200)
	for i := range ops {
		ops[i] = shareOp(fairShare(1000, 1000, sec), string(keyOf(i*i%97)), int64(i%3), 1+int64(i%5))
	}
	ops = append(ops, engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{ops[0], {Key: keyOf(1), Limit: bucket(1_000_000, 1, sec), Tokens: 1}}})
	results := make([]engine.Result, len(ops))
	now := epoch
	for range 100 {
		now += sec / 7
		s.Apply(now, ops, results)
	}
	if n := testing.AllocsPerRun(1000, func() { now += sec / 7; s.Apply(now, ops, results) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
