package opcodec

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// textOf shows the answer of a result. Its work is no part of the answer.
func textOf(res engine.Result) string {
	res.Work, res.Parts = 0, slices.Clone(res.Parts)
	for i := range res.Parts {
		res.Parts[i].Work = 0
	}
	return fmt.Sprintf("%+v", res)
}

// randomResults are what operations are answered on a store with random contents: a few keys, some of them policies.
func randomResults(r *rand.Rand, n int) []engine.Result {
	s := store.New(store.Config{Shards: 2})
	defer s.Close()
	var among []limits.Limit
	for len(among) < 3*len(limits.Algorithms()) {
		if l := anyLimit(r); l.Capacity < 30 {
			among = append(among, l)
		}
	}
	few := func(op *engine.Op) {
		op.Key = keyOf(r.IntN(24))
		if len(op.Who) > 0 {
			op.Who = keyOf(r.IntN(12))
		}
		op.Tokens = min(op.Tokens, 5)
	}
	now, results := epoch, make([]engine.Result, n)
	for i := range results {
		now += r.Int64N(sec / 20)
		op := randomOp(r, among)
		for op.Verb == engine.Restrict || op.Verb == engine.Flush || op.Verb == engine.Prepare { // new keys that are not kept, and purses, have fewer answers
			op = randomOp(r, among)
		}
		few(&op)
		for j := range op.Parts {
			few(&op.Parts[j])
		}
		s.Apply(now, []engine.Op{op}, results[i:i+1])
	}
	return results
}

func TestResultsAreReadAsTheyWereWritten(t *testing.T) {
	results := randomResults(rand.New(rand.NewPCG(8, 1)), 40_000)
	for _, status := range []engine.Status{engine.NotDurable, engine.Uncertain, engine.NoLeader, engine.Moved, engine.Overloaded, engine.TooLong, engine.ListTooLong} {
		results = append(results, engine.Result{Status: status})
	}
	var b []byte
	for i := range results {
		b = AppendResult(b, &results[i])
	}
	used, seen := engine.Result{Parts: make([]engine.Result, 0, 3)}, map[engine.Status]int{}
	looks, parts, leases := 0, 0, 0
	for i := range results {
		var read engine.Result
		rest, err := ReadResult(b, &read)
		if err != nil || textOf(read) != textOf(results[i]) {
			t.Fatalf("result %d: %v\nread  %+v\nwrote %+v", i, err, read, results[i])
		}
		if _, err = ReadResult(b, &used); err != nil || !bytes.Equal(AppendResult(nil, &used), b[:len(b)-len(rest)]) {
			t.Fatalf("result %d, read where another was: %v\nread  %+v\nwrote %+v", i, err, used, results[i])
		}
		b = rest
		seen[read.Status]++
		parts, leases = parts+len(read.Parts), leases+len(read.Leases)
		if read.Bytes > 0 {
			looks++
		}
	}
	if len(b) != 0 || len(seen) < 12 || looks < 200 || parts < 1000 || leases < 20 {
		t.Errorf("%d bytes left, tried %v, %d looks, %d parts, %d leases", len(b), seen, looks, parts, leases)
	}
}

func TestBadResultsAreRefused(t *testing.T) {
	parts := make([]engine.Result, engine.MaxParts+1)
	var status engine.Status
	for status.Known() {
		status++
	}
	bad := map[string]engine.Result{
		"a status beyond the last": {Status: status},
		"too many parts":           {Parts: parts},
		"a binding part too far":   {Parts: parts[:2], Binding: 2},
		"a binding part below -1":  {Parts: parts[:2], Binding: -2},
		"parts of parts":           {Parts: []engine.Result{{Parts: parts[:1]}}},
		"a long holder":            {Leases: []engine.Lease{{Holder: make([]byte, engine.MaxHolderBytes+1), Remaining: 1}}},
		"too many leases":          {Leases: make([]engine.Lease, limits.MaxHolders+1)},
		"no such algorithm wanted": {Status: engine.WrongType, Wanted: unknownAlgorithm, Held: bucket(1, 1, sec)},
		"no such algorithm held":   {Status: engine.WrongType, Held: limits.Limit{Algorithm: unknownAlgorithm, Capacity: 1}},
	}
	for name, res := range bad {
		if _, err := ReadResult(AppendResult(nil, &res), new(engine.Result)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := AppendResult(nil, &engine.Result{Bytes: 5, Held: bucket(1, 1, sec), Parts: parts[:2], Leases: []engine.Lease{{Holder: []byte("x"), Remaining: sec}}})
	for cut := range whole {
		if rest, err := ReadResult(whole[:cut], new(engine.Result)); err == nil {
			t.Errorf("read %d bytes of %d, %d left", cut, len(whole), len(rest))
		}
	}
}

func FuzzReadResult(f *testing.F) {
	for _, res := range randomResults(rand.New(rand.NewPCG(8, 2)), 40) {
		f.Add(AppendResult(nil, &res))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var res, again engine.Result
		rest, err := ReadResult(b, &res)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.HasSuffix(b, rest) {
			t.Fatalf("%x is left of %x", rest, b)
		}
		rest, err = ReadResult(AppendResult(nil, &res), &again)
		if err != nil || len(rest) > 0 || textOf(res) != textOf(again) {
			t.Fatalf("%v:\nread  %+v\nwrote %+v", err, again, res)
		}
	})
}
