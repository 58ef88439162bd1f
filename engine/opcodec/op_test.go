package opcodec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

func TestOpsAreReadAsTheyWereWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	var w Writer
	var in Reader
	verbs := map[engine.Verb]int{}
	for round := range 500 {
		list := make([]limits.Limit, 1+r.IntN(6))
		for i := range list {
			list[i] = anyLimit(r)
		}
		var ops []engine.Op
		var b []byte
		w.Reset()
		for range r.IntN(40) {
			op := randomOp(r, list)
			ops, b = append(ops, op), w.Append(b, &op)
			verbs[op.Verb]++
		}
		if w.Err() != nil {
			t.Fatalf("round %d cannot be written: %.2000v", round, ops)
		}
		in.Reset(b)
		read := make([]engine.Op, len(ops))
		for i := range ops {
			if !in.More() {
				t.Fatalf("round %d: only %d of %d", round, i, len(ops))
			}
			if err := in.Next(&read[i]); err != nil {
				t.Fatalf("round %d: %v: %+v", round, err, ops[i])
			}
		}
		if in.More() {
			t.Fatalf("round %d: more than was written", round)
		}
		for i := range ops { // all at the end: operations stay valid until Reset
			if !sameOp(read[i], ops[i]) {
				t.Fatalf("round %d op %d:\nread  %+v\nwrote %+v", round, i, read[i], ops[i])
			}
		}
	}
	if len(verbs) != len(opLayouts) {
		t.Errorf("only %v were tried", verbs)
	}
}

// What cuts an operation short, or leads it out of its ranges, is refused.
func TestBadOpsAreRefused(t *testing.T) {
	key, limit := []byte("k"), bucket(5, 1, sec)
	part := engine.Op{Key: key, Limit: limit, Tokens: 1}
	many := make([]engine.Op, engine.MaxParts+1)
	for i := range many {
		many[i] = part
	}
	lease := limits.Limit{Algorithm: limits.Concurrency, Capacity: 5, Rate: limits.Rate{Period: sec}}
	long := func(n int) []byte { return make([]byte, n) }
	with := func(change func(op *engine.Op)) engine.Op {
		op := part
		change(&op)
		return op
	}
	bad := map[string]engine.Op{
		"no parts":              {Verb: engine.AcquireAll},
		"too many parts":        {Verb: engine.AcquireAll, Parts: many},
		"a policy of no limits": {Verb: engine.SetPolicy, Key: key},
		"a long name":           {Verb: engine.SetPolicy, Key: long(engine.MaxPolicyName + 1), Parts: many[:1]},
		"no holder":             {Verb: engine.Release, Key: key},
		"a long holder":         {Verb: engine.Release, Key: key, Who: long(engine.MaxHolderBytes + 1)},
		"a lease of nobody":     with(func(op *engine.Op) { op.Limit = lease }),
		"too many leases":       with(func(op *engine.Op) { op.Limit, op.Limit.Capacity, op.Who = lease, limits.MaxHolders+1, key }),
		"a long log": with(func(op *engine.Op) {
			op.Limit = limits.Limit{Algorithm: limits.SlidingLog, Capacity: 1 << 22, Rate: limits.Rate{Period: sec}}
		}),
		"a long window": with(func(op *engine.Op) {
			op.Limit = limits.Limit{Algorithm: limits.SlidingWindow, Capacity: 1, Rate: limits.Rate{Period: limits.MaxDuration + 1}}
		}),
		"a long key":            with(func(op *engine.Op) { op.Key = long(engine.MaxKeyBytes + 1) }),
		"tokens below zero":     with(func(op *engine.Op) { op.Tokens = -1 }),
		"too many tokens":       with(func(op *engine.Op) { op.Tokens = limits.MaxTokens + 1 }),
		"a long wait":           with(func(op *engine.Op) { op.MaxWait = limits.MaxDuration + 1 }),
		"a wait below zero":     with(func(op *engine.Op) { op.MaxWait = engine.NoWait - 1 }),
		"no capacity":           with(func(op *engine.Op) { op.Limit.Capacity = 0 }),
		"a capacity too large":  with(func(op *engine.Op) { op.Limit.Capacity = limits.MaxTokens + 1 }),
		"no algorithm":          with(func(op *engine.Op) { op.Limit.Algorithm = limits.NoAlgorithm }),
		"another algorithm":     with(func(op *engine.Op) { op.Limit.Algorithm = unknownAlgorithm }),
		"a hundred years":       with(func(op *engine.Op) { op.Limit = bucket(limits.MaxTokens, 1, sec) }),
		"force and up to":       with(func(op *engine.Op) { op.Options = engine.Force | engine.UpTo }),
		"force and wait":        with(func(op *engine.Op) { op.Options, op.MaxWait = engine.Force, sec }),
		"shadow":                with(func(op *engine.Op) { op.Options = engine.Shadow }),
		"another option":        with(func(op *engine.Op) { op.Options = engine.FixedCost }),
		"keep too much":         with(func(op *engine.Op) { op.Keep = limits.MaxTokens + 1 }),
		"keep over 100 %":       with(func(op *engine.Op) { op.Keep = engine.KeepPercent(engine.MaxKeepPercent + 1) }),
		"keep of leases":        with(func(op *engine.Op) { op.Limit, op.Who, op.Keep = lease, key, 1 }),
		"keep and force":        with(func(op *engine.Op) { op.Options, op.Keep = engine.Force, 1 }),
		"a long wait for all":   {Verb: engine.AcquireAll, MaxWait: limits.MaxDuration + 1, Parts: many[:1]},
		"a cost too large":      {Verb: engine.SetPolicy, Parts: []engine.Op{with(func(op *engine.Op) { op.Options, op.Tokens = engine.FixedCost, limits.MaxTokens+1 })}},
		"force for all":         {Verb: engine.AcquireAll, Options: engine.Force, Parts: many[:1]},
		"a script of dialect 0": {Verb: engine.Script, Args: [][]byte{key}},
		"marks of no keys":      {Verb: engine.Script, Args: [][]byte{key}, Tokens: 1, Options: engine.WriteOnly, Key: []byte{1}},
		"too few marks":         {Verb: engine.Script, Args: slices.Repeat([][]byte{key}, 9), KeyCount: 9, Tokens: 1, Options: engine.WriteOnly, Key: []byte{1}},
		"half a field":          {Verb: engine.Check, Options: engine.NamedFields, Key: key, Args: [][]byte{key}},
		"no fields":             {Verb: engine.Check, Options: engine.NamedFields, Key: key},
		"a field without name":  {Verb: engine.Check, Options: engine.NamedFields, Key: key, Args: [][]byte{nil, key}},
		"a long field":          {Verb: engine.Check, Options: engine.NamedFields, Key: key, Args: [][]byte{key, long(engine.MaxKeyBytes + 1)}},
		"too many fields":       {Verb: engine.Check, Options: engine.NamedFields, Key: key, Args: slices.Repeat([][]byte{key}, 2*engine.MaxFields+2)},
		"a key among fields":    {Verb: engine.Check, Options: engine.NamedFields, Key: key, Args: [][]byte{key, key}, KeyCount: 1},
		"half a brace":          {Verb: engine.SetPolicy, Options: engine.NamedFields, Key: key, Parts: []engine.Op{{Key: []byte("{"), Limit: limit}}},
		"values to be joined":   {Verb: engine.SetOverride, Options: engine.NamedFields, Key: key, Parts: []engine.Op{{Key: []byte("{a}{b}"), Limit: limit}}},
		"named fields of a key": {Verb: engine.Delete, Options: engine.NamedFields, Key: key},
		"expecting of no keys":  {Verb: engine.Expect},
		"keys left out":         {Verb: engine.Expect, Args: [][]byte{key, key}, KeyCount: 1, Who: long(engine.FingerprintBytes)},
		"too few fingerprints":  {Verb: engine.Expect, Args: [][]byte{key, key}, KeyCount: 2, Who: long(engine.FingerprintBytes)},
		"half a fingerprint":    {Verb: engine.Expect, Args: [][]byte{key}, KeyCount: 1, Who: long(engine.FingerprintBytes / 2)},
		"expecting a long key":  {Verb: engine.Expect, Args: [][]byte{long(engine.MaxKeyBytes + 1)}, KeyCount: 1, Who: long(engine.FingerprintBytes)},
		"expecting too much":    {Verb: engine.Expect, Args: slices.Repeat([][]byte{key}, engine.MaxExpected+1), KeyCount: engine.MaxExpected + 1, Who: long((engine.MaxExpected + 1) * engine.FingerprintBytes)},
		"peek at a deletion":    {Verb: engine.Delete, Options: engine.Peek, Key: key},
	}
	for name, op := range bad {
		var r Reader
		var w Writer
		r.Reset(w.Append(nil, &op))
		if !errors.Is(w.Err(), ErrInvalid) {
			t.Errorf("%s: can be written", name)
		}
		if w.Reset(); w.Err() != nil {
			t.Errorf("%s: a writer that begins anew still refuses", name)
		}
		var read engine.Op
		if err := r.Next(&read); !errors.Is(err, ErrInvalid) || r.More() {
			t.Errorf("%s: %v, more %t: %+v", name, err, r.More(), read)
		}
	}
	var w Writer
	whole := w.Append(w.Append(nil, &part), &engine.Op{Verb: engine.AcquireAll, Parts: many[:2]})
	first := len(new(Writer).Append(nil, &part))
	for cut := range whole {
		var r Reader
		r.Reset(whole[:cut])
		var op engine.Op
		for r.More() {
			if err := r.Next(&op); err == nil && op.Verb == engine.AcquireAll {
				t.Errorf("read of %d bytes of %d: %+v", cut, len(whole), op)
			}
		}
		if cut < first && op.Verb == engine.Acquire && r.Next(&op) == nil {
			t.Error("read beyond the end")
		}
	}
	var r Reader
	for _, b := range [][]byte{{byte(len(opLayouts))}, {verbFollows}, {verbFollows, byte(len(opLayouts))}, {verbFollows, verbFollows}, {verbFollows, 0xff}, {byte(engine.Acquire), 2}, {byte(engine.Acquire), 1}, {}} {
		if r.Reset(b); r.Next(new(engine.Op)) == nil {
			t.Errorf("read %x", b)
		}
	}
}

// A name too long for any policy stays one that none has, whatever its length.
func TestLongNamesOfPolicies(t *testing.T) {
	for _, verb := range []engine.Verb{engine.Check, engine.DropPolicy, engine.SetOverride} {
		var r Reader
		r.Reset(new(Writer).Append(nil, &engine.Op{Verb: verb, Key: make([]byte, 1<<20)}))
		var op engine.Op
		var w Writer
		if w.Append(nil, &engine.Op{Verb: verb, Key: make([]byte, 1<<20)}); w.Err() != nil {
			t.Errorf("verb %d cannot be written", verb)
		}
		if err := r.Next(&op); err != nil || len(op.Key) <= engine.MaxPolicyName || len(op.Key) > engine.MaxKeyBytes {
			t.Errorf("verb %d: %v, %d bytes", verb, err, len(op.Key))
		}
	}
}

// The usual operation is small: a head, the limit's number and the key with its length.
func TestOpsAreSmall(t *testing.T) {
	var w Writer
	op := engine.Op{Key: []byte("0123456789abcdef"), Limit: bucket(100, 10, sec), Tokens: 1}
	first := w.Append(nil, &op)
	if n := len(w.Append(first, &op)) - len(first); n != 19 {
		t.Errorf("%d bytes", n)
	}
}

func FuzzReader(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 2))
	for range 20 {
		var w Writer
		var b []byte
		list := []limits.Limit{anyLimit(r), anyLimit(r)}
		for range 6 {
			op := randomOp(r, list)
			b = w.Append(b, &op)
		}
		f.Add(b)
	}
	f.Add([]byte{})
	f.Add(new(Writer).Append(nil, &engine.Op{Verb: engine.Expect, Args: [][]byte{[]byte("k")}, KeyCount: 1, Who: make([]byte, engine.FingerprintBytes)}))
	f.Add([]byte{verbFollows | headWho, byte(engine.Release), 1, 'k', 1, 'w', verbFollows, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		var in Reader
		var w Writer
		var ops []engine.Op
		var again []byte
		for in.Reset(b); in.More(); {
			var op engine.Op
			if err := in.Next(&op); err != nil {
				if !errors.Is(err, ErrInvalid) {
					t.Fatal(err)
				}
				break
			}
			ops, again = append(ops, op), w.Append(again, &op)
		}
		s := store.New(store.Config{Shards: 1, MaxBytes: 1 << 20})
		defer s.Close()
		in.Reset(again)
		for i := range ops {
			var op engine.Op
			if err := in.Next(&op); err != nil || !sameOp(op, ops[i]) {
				t.Fatalf("%v:\nread  %+v\nwrote %+v", err, op, ops[i])
			}
			s.Apply(epoch, []engine.Op{op}, make([]engine.Result, 1)) // every operation that is read can be applied
		}
	})
}

func BenchmarkCodec(b *testing.B) {
	ops := make([]engine.Op, 64)
	for i := range ops {
		ops[i] = engine.Op{Key: fmt.Appendf(nil, "key:%012d", i), Limit: bucket(100, 10, sec), Tokens: 1}
	}
	b.Run("write", func(b *testing.B) {
		var w Writer
		var buf []byte
		b.ReportAllocs()
		for i := 0; i < b.N; i += len(ops) {
			w.Reset()
			buf = buf[:0]
			for j := range ops {
				buf = w.Append(buf, &ops[j])
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		var w Writer
		var buf []byte
		for j := range ops {
			buf = w.Append(buf, &ops[j])
		}
		var r Reader
		var op engine.Op
		b.ReportAllocs()
		for i := 0; i < b.N; i += len(ops) {
			for r.Reset(buf); r.More(); {
				if err := r.Next(&op); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
