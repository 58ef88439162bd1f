package opcodec

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

func TestCodecDoesNotAllocate(t *testing.T) {
	parts := []engine.Op{}
	for i := range 3 {
		parts = append(parts, engine.Op{Key: keyOf(i), Limit: bucket(1_000_000, int64(1+i), sec), Tokens: 1})
	}
	ops := []engine.Op{{Verb: engine.AcquireAll, Parts: parts, Tokens: 1}, {Verb: engine.Check, Key: []byte("p"), Who: []byte("x"), Tokens: 1},
		{Verb: engine.Check, Options: engine.NamedFields, Key: []byte("p"), Who: []byte("x"), Tokens: 1, Args: [][]byte{[]byte("tenant"), []byte("acme")}}, parts[0], parts[1]}
	results := make([]engine.Result, len(ops))
	s := store.New(store.Config{})
	defer s.Close()
	s.Apply(epoch, ops, results)
	var w Writer
	var r Reader
	var op engine.Op
	var res engine.Result
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
