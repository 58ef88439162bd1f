package engine

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
)

// shown is a result without what no reply reads, so that two can be compared.
func shown(res Result) Result {
	if !res.showsHeld() {
		res.Held = Limit{}
	}
	if res.Status != WrongType {
		res.Wanted = NoAlgorithm
	}
	if len(res.Parts) == 0 {
		res.Parts, res.Binding = nil, 0
	}
	if len(res.Leases) == 0 {
		res.Leases = nil
	}
	res.Work = 0 // no part of the answer
	parts := res.Parts
	res.Parts = nil
	for _, p := range parts {
		res.Parts = append(res.Parts, shown(p))
	}
	return res
}

func sameResult(a, b Result) bool { return reflect.DeepEqual(shown(a), shown(b)) }

// randomResults are what operations are answered on a store with random contents.
func randomResults(r *rand.Rand, n int) []Result {
	s := New(Config{Shards: 2})
	defer s.Close()
	now, results := epoch, make([]Result, n)
	for i := range results {
		now += r.Int64N(sec / 20)
		op := randomStep(r)
		for op.Verb == Restrict { // new keys that are not kept have fewer answers
			op = randomStep(r)
		}
		s.Apply(now, []Op{op}, results[i:i+1])
	}
	return results
}

func TestResultsAreReadAsTheyWereWritten(t *testing.T) {
	results := randomResults(rand.New(rand.NewPCG(8, 1)), 20_000)
	for _, status := range []Status{NotDurable, Uncertain, NoLeader, Moved, Overloaded, TooLong, ListTooLong} {
		results = append(results, Result{Status: status})
	}
	var b []byte
	for i := range results {
		b = AppendResult(b, &results[i])
	}
	read, seen := Result{Parts: make([]Result, 0, 3)}, map[Status]int{}
	parts, leases := 0, 0
	for i := range results {
		var err error
		if b, err = ReadResult(b, &read); err != nil || !sameResult(read, results[i]) {
			t.Fatalf("result %d: %v\nread  %+v\nwrote %+v", i, err, shown(read), shown(results[i]))
		}
		seen[read.Status]++
		parts, leases = parts+len(read.Parts), leases+len(read.Leases)
	}
	if len(b) != 0 || len(seen) < 9 || parts < 1000 || leases < 20 {
		t.Errorf("%d bytes left, tried %v, %d parts, %d leases", len(b), seen, parts, leases)
	}
}

func TestBadResultsAreRefused(t *testing.T) {
	parts := make([]Result, MaxParts+1)
	bad := map[string]Result{
		"a status beyond the last": {Status: endOfStatuses},
		"too many parts":           {Parts: parts},
		"a binding part too far":   {Parts: parts[:2], Binding: 2},
		"a binding part below -1":  {Parts: parts[:2], Binding: -2},
		"parts of parts":           {Parts: []Result{{Parts: parts[:1]}}},
		"a long holder":            {Leases: []Lease{{make([]byte, MaxHolderBytes+1), 1}}},
		"too many leases":          {Leases: make([]Lease, MaxHolders+1)},
		"no such algorithm wanted": {Status: WrongType, Wanted: Algorithm(len(algorithms)), Held: bucket(1, 1, sec)},
		"no such algorithm held":   {Status: WrongType, Held: Limit{Algorithm: Algorithm(len(algorithms)), Capacity: 1}},
	}
	for name, res := range bad {
		if _, err := ReadResult(AppendResult(nil, &res), new(Result)); !errors.Is(err, ErrOp) {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := AppendResult(nil, &Result{Bytes: 5, Held: bucket(1, 1, sec), Parts: parts[:2], Leases: []Lease{{[]byte("x"), sec}}})
	for cut := range whole {
		if rest, err := ReadResult(whole[:cut], new(Result)); err == nil {
			t.Errorf("read %d bytes of %d, %d left", cut, len(whole), len(rest))
		}
	}
}

func FuzzReadResult(f *testing.F) {
	for _, res := range randomResults(rand.New(rand.NewPCG(8, 2)), 40) {
		f.Add(AppendResult(nil, &res))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var res, again Result
		rest, err := ReadResult(b, &res)
		if err != nil {
			if !errors.Is(err, ErrOp) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.HasSuffix(b, rest) {
			t.Fatalf("%x is left of %x", rest, b)
		}
		rest, err = ReadResult(AppendResult(nil, &res), &again)
		if err != nil || len(rest) > 0 || !sameResult(res, again) {
			t.Fatalf("%v:\nread  %+v\nwrote %+v", err, again, res)
		}
	})
}
