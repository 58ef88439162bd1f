//go:build !race

// The race detector makes sync.Pool drop items at random, so code under it allocates.

package engine

import "testing"

func TestApplyDoesNotAllocate(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	ops, results := make([]Op, 64), make([]Result, 64)
	for i := range ops {
		ops[i] = Op{Key: keyOf(i), Limit: bucket(1_000_000, 1, sec), Tokens: 1}
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
	parts := []Op{}
	for i := range 3 {
		parts = append(parts, Op{Key: keyOf(i), Limit: bucket(1_000_000, 1, sec), Tokens: 1})
	}
	ask(s, epoch, Op{Verb: SetPolicy, Key: []byte("p"), Parts: []Op{{Key: []byte("u:{}"), Limit: bucket(1_000_000, 1, sec)}}})
	ops := []Op{{Verb: AcquireAll, Parts: parts}, {Verb: Check, Key: []byte("p"), Who: []byte("x"), Tokens: 1}}
	results := make([]Result, len(ops))
	s.Apply(epoch, ops, results)
	now := epoch
	if n := testing.AllocsPerRun(1000, func() { now++; s.Apply(now, ops, results) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestOpCodecDoesNotAllocate(t *testing.T) {
	parts := []Op{}
	for i := range 3 {
		parts = append(parts, Op{Key: keyOf(i), Limit: bucket(1_000_000, int64(1+i), sec), Tokens: 1})
	}
	ops := []Op{{Verb: AcquireAll, Parts: parts, Tokens: 1}, {Verb: Check, Key: []byte("p"), Who: []byte("x"), Tokens: 1}, parts[0], parts[1]}
	results := make([]Result, len(ops))
	s := New(Config{})
	defer s.Close()
	s.Apply(epoch, ops, results)
	var w OpWriter
	var r OpReader
	var op Op
	var res Result
	var b []byte
	round := func() {
		w.Reset()
		b = b[:0]
		for i := range ops {
			b = w.Append(b, &ops[i])
		}
		for r.Reset(b); r.More(); {
			if err := r.Next(&op); err != nil {
				t.Fatal(err)
			}
		}
		b = b[:0]
		for i := range results {
			b = AppendResult(b, &results[i])
		}
		for rest := b; len(rest) > 0; {
			var err error
			if rest, err = ReadResult(rest, &res); err != nil {
				t.Fatal(err)
			}
		}
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations for a few operations and results", n)
	}
}
