package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// anyLimit is a limit of any algorithm, any span and any size.
func anyLimit(r *rand.Rand) Limit {
	for {
		l := Limit{Algorithm: 1 + Algorithm(r.IntN(len(algorithms)-1)), Capacity: 1 + r.Int64N(1<<r.IntN(39))}
		l.Rate.Period = MinDuration + r.Int64N(MaxDuration)
		if algorithms[l.Algorithm].rate {
			l.Rate = randomRate(r)
		}
		if l.Algorithm == FixedWindow {
			if l.Span = Span(r.IntN(int(EachMonth) + 1)); l.Span > Aligned {
				l.Rate.Period = 0
			}
		}
		if l.canBeAsked() && l.Check() == nil {
			return l
		}
	}
}

// randomOp is an operation of any verb, of the form that the server makes.
func randomOp(r *rand.Rand, limits []Limit) Op {
	text := func(most int) []byte {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	part := func() Op {
		p := Op{Key: text(40), Limit: limits[r.IntN(len(limits))]}
		if p.Limit.Algorithm == Concurrency {
			p.Who = append(text(100), 'x')
		}
		return p
	}
	parts := func(least int) (ops []Op) {
		for range least + r.IntN(4)*r.IntN(20) {
			ops = append(ops, part())
		}
		return ops
	}
	tokens := []int64{0, 1, 1, 1, 2, 300, MaxTokens}[r.IntN(7)]
	op := Op{Verb: Verb(r.IntN(len(opLayouts))), Key: text(300)}
	switch op.Verb {
	case Acquire:
		op = part()
		op.Tokens, op.Options = tokens, []Option{0, 0, Peek, UpTo, Force, Force | Peek}[r.IntN(6)]
		if op.Options&Force == 0 {
			op.MaxWait = []int64{0, 0, NoWait, MinDuration, MaxDuration}[r.IntN(5)]
		}
	case AcquireAll:
		op.Key, op.Parts, op.Tokens, op.Options = nil, parts(1), tokens, []Option{0, Peek}[r.IntN(2)]
		for i := range op.Parts {
			op.Parts[i].Tokens, op.Parts[i].Options = tokens, op.Options
		}
	case Check:
		op.Key, op.Who, op.Tokens, op.MaxKey, op.Options = text(255), text(300), tokens, r.Uint32()>>r.IntN(32), []Option{0, Peek}[r.IntN(2)]
	case Refund:
		op.Tokens = tokens
	case Release:
		op.Who = append(text(254), 'x')
	case Flush:
		op.Key = nil
	case SetPolicy:
		op.Key, op.Parts, op.Options = text(255), parts(1), []Option{0, Shadow}[r.IntN(2)]
	case DropPolicy:
		op.Key = text(255)
	case Restrict:
		op.Who, op.NewKeys = text(20), NewKeys(r.IntN(4))
	case KeepOverflow:
		limit := limits[r.IntN(len(limits))]
		for algorithms[limit.Algorithm].bytes == 0 { // any bytes are a state of the others
			limit = anyLimit(r)
		}
		op.Key, op.Who, op.Instance = text(60), text(algorithms[limit.Algorithm].bytes), uint8(r.IntN(MaxParts))
		op.Parts = []Op{{Limit: limit}}
	case SetOverride:
		op.Key, op.Who, op.Parts = text(255), text(300), parts(0)
	}
	return op
}

// sameOp compares operations; an empty text is the same as none.
func sameOp(a, b Op) bool {
	if !bytes.Equal(a.Key, b.Key) || !bytes.Equal(a.Who, b.Who) || len(a.Parts) != len(b.Parts) {
		return false
	}
	for i := range a.Parts {
		if !sameOp(a.Parts[i], b.Parts[i]) {
			return false
		}
	}
	a.Key, a.Who, a.Parts, b.Key, b.Who, b.Parts = nil, nil, nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}

func TestOpsAreReadAsTheyWereWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	var w OpWriter
	var in OpReader
	verbs := map[Verb]int{}
	for round := range 500 {
		limits := make([]Limit, 1+r.IntN(6))
		for i := range limits {
			limits[i] = anyLimit(r)
		}
		var ops []Op
		var b []byte
		w.Reset()
		for range r.IntN(40) {
			op := randomOp(r, limits)
			ops, b = append(ops, op), w.Append(b, &op)
			verbs[op.Verb]++
		}
		if w.Err() != nil {
			t.Fatalf("round %d cannot be written: %+v", round, ops)
		}
		in.Reset(b)
		read := make([]Op, len(ops))
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
	part := Op{Key: key, Limit: limit, Tokens: 1}
	many := make([]Op, MaxParts+1)
	for i := range many {
		many[i] = part
	}
	lease := Limit{Algorithm: Concurrency, Capacity: 5, Rate: Rate{0, sec}}
	long := func(n int) []byte { return make([]byte, n) }
	with := func(change func(op *Op)) Op {
		op := part
		change(&op)
		return op
	}
	bad := map[string]Op{
		"no parts":              {Verb: AcquireAll},
		"too many parts":        {Verb: AcquireAll, Parts: many},
		"a policy of no limits": {Verb: SetPolicy, Key: key},
		"a long name":           {Verb: SetPolicy, Key: long(MaxPolicyName + 1), Parts: many[:1]},
		"no holder":             {Verb: Release, Key: key},
		"a long holder":         {Verb: Release, Key: key, Who: long(MaxHolderBytes + 1)},
		"a lease of nobody":     with(func(op *Op) { op.Limit = lease }),
		"too many leases":       with(func(op *Op) { op.Limit, op.Limit.Capacity, op.Who = lease, MaxHolders+1, key }),
		"a long log":            with(func(op *Op) { op.Limit = Limit{SlidingLog, 0, maxLogLimit + 1, Rate{0, sec}} }),
		"a long window":         with(func(op *Op) { op.Limit = Limit{SlidingWindow, 0, 1, Rate{0, MaxDuration + 1}} }),
		"a long key":            with(func(op *Op) { op.Key = long(MaxKeyBytes + 1) }),
		"tokens below zero":     with(func(op *Op) { op.Tokens = -1 }),
		"too many tokens":       with(func(op *Op) { op.Tokens = MaxTokens + 1 }),
		"a long wait":           with(func(op *Op) { op.MaxWait = MaxDuration + 1 }),
		"a wait below zero":     with(func(op *Op) { op.MaxWait = NoWait - 1 }),
		"no capacity":           with(func(op *Op) { op.Limit.Capacity = 0 }),
		"a capacity too large":  with(func(op *Op) { op.Limit.Capacity = MaxTokens + 1 }),
		"no algorithm":          with(func(op *Op) { op.Limit.Algorithm = NoAlgorithm }),
		"another algorithm":     with(func(op *Op) { op.Limit.Algorithm = Algorithm(len(algorithms)) }),
		"a hundred years":       with(func(op *Op) { op.Limit = bucket(MaxTokens, 1, sec) }),
		"force and up to":       with(func(op *Op) { op.Options = Force | UpTo }),
		"force and wait":        with(func(op *Op) { op.Options, op.MaxWait = Force, sec }),
		"shadow":                with(func(op *Op) { op.Options = Shadow }),
		"another option":        with(func(op *Op) { op.Options = 1 << 7 }),
		"force for all":         {Verb: AcquireAll, Options: Force, Parts: many[:1]},
		"peek at a deletion":    {Verb: Delete, Options: Peek, Key: key},
	}
	for name, op := range bad {
		var r OpReader
		var w OpWriter
		r.Reset(w.Append(nil, &op))
		if !errors.Is(w.Err(), ErrOp) {
			t.Errorf("%s: can be written", name)
		}
		if w.Reset(); w.Err() != nil {
			t.Errorf("%s: a writer that begins anew still refuses", name)
		}
		var read Op
		if err := r.Next(&read); !errors.Is(err, ErrOp) || r.More() {
			t.Errorf("%s: %v, more %t: %+v", name, err, r.More(), read)
		}
	}
	var w OpWriter
	whole := w.Append(w.Append(nil, &part), &Op{Verb: AcquireAll, Parts: many[:2]})
	first := len(new(OpWriter).Append(nil, &part))
	for cut := range whole {
		var r OpReader
		r.Reset(whole[:cut])
		var op Op
		for r.More() {
			if err := r.Next(&op); err == nil && op.Verb == AcquireAll {
				t.Errorf("read of %d bytes of %d: %+v", cut, len(whole), op)
			}
		}
		if cut < first && op.Verb == Acquire && r.Next(&op) == nil {
			t.Error("read beyond the end")
		}
	}
	var r OpReader
	for _, b := range [][]byte{{byte(len(opLayouts))}, {verbFollows}, {verbFollows, byte(len(opLayouts))}, {verbFollows, verbFollows}, {verbFollows, 0xff}, {byte(Acquire), 2}, {byte(Acquire), 1}, {}} {
		if r.Reset(b); r.Next(new(Op)) == nil {
			t.Errorf("read %x", b)
		}
	}
}

// A name too long for any policy stays one that none has, whatever its length.
func TestLongNamesOfPolicies(t *testing.T) {
	for _, verb := range []Verb{Check, DropPolicy, SetOverride} {
		var r OpReader
		r.Reset(new(OpWriter).Append(nil, &Op{Verb: verb, Key: make([]byte, 1<<20)}))
		var op Op
		var w OpWriter
		if w.Append(nil, &Op{Verb: verb, Key: make([]byte, 1<<20)}); w.Err() != nil {
			t.Errorf("verb %d cannot be written", verb)
		}
		if err := r.Next(&op); err != nil || len(op.Key) <= MaxPolicyName || len(op.Key) > MaxKeyBytes {
			t.Errorf("verb %d: %v, %d bytes", verb, err, len(op.Key))
		}
	}
}

// The usual operation is small: a head, the limit's number and the key with its length.
func TestOpsAreSmall(t *testing.T) {
	var w OpWriter
	op := Op{Key: []byte("0123456789abcdef"), Limit: bucket(100, 10, sec), Tokens: 1}
	first := w.Append(nil, &op)
	if n := len(w.Append(first, &op)) - len(first); n != 19 {
		t.Errorf("%d bytes", n)
	}
}

func FuzzOpReader(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 2))
	for range 20 {
		var w OpWriter
		var b []byte
		limits := []Limit{anyLimit(r), anyLimit(r)}
		for range 6 {
			op := randomOp(r, limits)
			b = w.Append(b, &op)
		}
		f.Add(b)
	}
	f.Add([]byte{})
	f.Add([]byte{verbFollows | headWho, byte(Release), 1, 'k', 1, 'w', verbFollows, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		var in OpReader
		var w OpWriter
		var ops []Op
		var again []byte
		for in.Reset(b); in.More(); {
			var op Op
			if err := in.Next(&op); err != nil {
				if !errors.Is(err, ErrOp) {
					t.Fatal(err)
				}
				break
			}
			ops, again = append(ops, op), w.Append(again, &op)
		}
		s := New(Config{Shards: 1, MaxBytes: 1 << 20})
		defer s.Close()
		in.Reset(again)
		for i := range ops {
			var op Op
			if err := in.Next(&op); err != nil || !sameOp(op, ops[i]) {
				t.Fatalf("%v:\nread  %+v\nwrote %+v", err, op, ops[i])
			}
			s.Apply(epoch, []Op{op}, make([]Result, 1)) // every operation that is read can be applied
		}
	})
}

func BenchmarkOpCodec(b *testing.B) {
	ops := make([]Op, 64)
	for i := range ops {
		ops[i] = Op{Key: fmt.Appendf(nil, "key:%012d", i), Limit: bucket(100, 10, sec), Tokens: 1}
	}
	b.Run("write", func(b *testing.B) {
		var w OpWriter
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
		var w OpWriter
		var buf []byte
		for j := range ops {
			buf = w.Append(buf, &ops[j])
		}
		var r OpReader
		var op Op
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
