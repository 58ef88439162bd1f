package opcodec

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/limits"
)

var update = flag.Bool("update", false, "write the golden file of operations")

// goldenOps is one operation of every verb of format version 1, with every field that the verb has; then later
// additions.
func goldenOps() []engine.Op {
	part := engine.Op{Key: []byte("p:{}"), Limit: bucket(100, 10, sec), Tokens: 1}
	window := engine.Op{Key: []byte("w:{}"), Limit: limits.Limit{Algorithm: limits.FixedWindow, Span: limits.EachMonth, Capacity: 7}, Tokens: 1}
	key, who := []byte("key"), []byte("who")
	of := func(algorithm limits.Algorithm, least int64) limits.Limit {
		l := part.Limit
		l.Algorithm, l.Least = algorithm, least
		return l
	}
	purse := part.Limit
	purse.Algorithm = limits.PurseTokenBucket
	return []engine.Op{
		{Verb: engine.Acquire, Key: key, Limit: part.Limit, Tokens: 300, MaxWait: sec, Options: engine.UpTo},
		{Verb: engine.AcquireAll, Tokens: 1, Options: engine.Peek, Parts: []engine.Op{{Key: key, Limit: part.Limit, Tokens: 2, Options: engine.Peek}, {Key: who, Limit: window.Limit, Tokens: 1, Options: engine.Peek}}},
		{Verb: engine.Check, Key: key, Who: who, Tokens: 5, MaxKey: 400, Options: engine.Peek},
		{Verb: engine.Look, Key: key},
		{Verb: engine.Refund, Key: key, Tokens: 3},
		{Verb: engine.Release, Key: key, Who: who},
		{Verb: engine.Leases, Key: key},
		{Verb: engine.Delete, Key: key},
		{Verb: engine.Flush},
		{Verb: engine.SetPolicy, Key: key, Parts: []engine.Op{{Key: part.Key, Limit: part.Limit}, {Key: window.Key, Limit: window.Limit}}, Options: engine.Shadow},
		{Verb: engine.DropPolicy, Key: key},
		{Verb: engine.SetOverride, Key: key, Who: who, Parts: []engine.Op{{Key: part.Key, Limit: part.Limit}}},
		{Verb: engine.Restrict, Key: key, Who: who, NewKeys: engine.OverflowNew},
		{Verb: engine.KeepOverflow, Key: key, Who: []byte{1, 2, 3}, Instance: 5, Parts: []engine.Op{{Limit: part.Limit}}},
		{Verb: engine.SetPolicy, Key: key, Parts: []engine.Op{{Key: []byte("{tenant}:{}"), Limit: part.Limit}}, Options: engine.Shadow | engine.NamedFields},
		{Verb: engine.SetOverride, Key: key, Who: who, Parts: []engine.Op{{Key: []byte("{{}}"), Limit: part.Limit}}, Options: engine.NamedFields},
		{Verb: engine.Check, Key: key, Who: who, Tokens: 5, MaxKey: 400, Options: engine.Peek | engine.NamedFields, Args: [][]byte{[]byte("tenant"), []byte("acme")}},
		{Verb: engine.Acquire, Key: key, Limit: part.Limit, Tokens: 300, Keep: engine.KeepTokens(5)},
		{Verb: engine.AcquireAll, Tokens: 3, MaxWait: sec, Parts: []engine.Op{
			{Key: key, Limit: part.Limit, Tokens: 0, MaxWait: sec, Options: engine.FixedCost}, {Key: who, Limit: window.Limit, Tokens: 3, MaxWait: sec, Keep: engine.KeepPercent(12_500)}}},
		{Verb: engine.Check, Key: key, Who: who, Tokens: 1, MaxKey: 400, MaxWait: sec},
		{Verb: engine.Check, Key: key, Who: who, Tokens: 1, MaxKey: 400, Keep: engine.KeepPercent(10_000)},
		{Verb: engine.SetPolicy, Key: key, Parts: []engine.Op{{Key: part.Key, Limit: part.Limit, Options: engine.FixedCost, Tokens: 1}, {Key: window.Key, Limit: window.Limit, Keep: 3}}},
		{Verb: engine.SetOverride, Key: key, Who: who, Parts: []engine.Op{{Key: part.Key, Limit: part.Limit, Options: engine.FixedCost, Tokens: 300, Keep: 3}}},
		{Verb: engine.Reserve, Key: key, MaxWait: sec, Parts: []engine.Op{{Key: who, Limit: part.Limit, Tokens: 300}}},
		{Verb: engine.Reserve, Key: key, MaxWait: sec, Parts: []engine.Op{{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: who, Limit: part.Limit, Tokens: 1}, {Key: key, Limit: part.Limit, Tokens: 1}}}}},
		{Verb: engine.Settle, Key: key, Tokens: 300},
		{Verb: engine.Settle, Key: key, Tokens: 1, Options: engine.Cancel | engine.DeclaredOnly, Args: [][]byte{key, who}},
		{Verb: engine.Settle, Key: key, Tokens: 1, Parts: []engine.Op{{Tokens: 7, Options: engine.FixedCost}, {}}},
		{Verb: engine.Lend, Key: key, Who: who, Limit: part.Limit, Tokens: 9, MaxWait: sec, Loan: &engine.Loan{Number: 300, Previous: 2, Left: 7}},
		{Verb: engine.Return, Key: key, Who: who, Loan: &engine.Loan{Number: 301, Previous: 300}},
		{Verb: engine.Void, Key: key, Who: who, Options: engine.Force},
		{Verb: engine.Loans, Key: key},
		{Verb: engine.Prepare, Key: key, Limit: purse, Options: engine.Cancel},
		{Verb: engine.Deposit, Key: key, Tokens: 300, Options: engine.Force, Loan: &engine.Loan{Number: 300, Previous: 299}},
		{Verb: engine.Acquire, Key: key, Limit: part.Limit, Tokens: 300, Options: engine.UpTo, PriorAt: sec},
		{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: key, Limit: part.Limit, Tokens: 1}, {Key: who, Limit: part.Limit, Tokens: 1, PriorAt: sec}}},
		{Verb: engine.Check, Key: key, Who: who, Tokens: 5, MaxKey: 400, PriorAt: sec},
		{Verb: engine.Lend, Key: key, Who: who, Limit: part.Limit, Tokens: 9, PriorAt: sec, Loan: &engine.Loan{Number: 300, Previous: 2, Left: 7}},
		{Verb: engine.Settle, Key: key, Tokens: 300, PriorAt: sec},
		{Verb: engine.Script, Options: engine.AlsoDeclared, Args: [][]byte{key, who}, KeyFrom: 1, KeyCount: 1, Tokens: 1, PriorAt: sec},
		{Verb: engine.Carry, Key: key, Limit: part.Limit, Tokens: 7, PriorAt: sec},
		{Verb: engine.Acquire, Key: key, Limit: of(limits.FairShare, 0), Tokens: 300, Who: who, Weight: 5},
		{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: key, Limit: of(limits.FairShare, 0), Tokens: 1, Who: who, Weight: 5}, {Key: who, Limit: of(limits.Adaptive, 3), Tokens: 1}}},
		{Verb: engine.SetPolicy, Key: key, Parts: []engine.Op{{Key: part.Key, Limit: of(limits.FairShare, 0), Who: []byte("{}"), Weight: 2}}},
		{Verb: engine.ListMembers, Key: key},
		{Verb: engine.AcquireAll, Tokens: 2, Parts: []engine.Op{
			{Key: key, Limit: of(limits.Class, 0), Tokens: 2, Who: engine.AppendAssured(nil, 7, limits.Rate{Tokens: 3, Period: sec})}, {Key: who, Limit: of(limits.Class, 0), Tokens: 2}}},
		{Verb: engine.Acquire, Key: key, Limit: of(limits.Adaptive, 3), Tokens: 300, MaxWait: sec},
		{Verb: engine.Adapt, Key: key, Report: &engine.Report{Good: 300, Bad: 2, Every: sec, Down: 80_000, Up: 5_000, Pause: 5 * sec}},
		{Verb: engine.Script, Options: engine.WriteOnly | engine.DeclaredOnly, Key: []byte{2}, Args: [][]byte{who, key, who}, KeyFrom: 1, KeyCount: 2, Tokens: 1},
		{Verb: engine.Fingerprint, Key: key},
		{Verb: engine.Expect, Args: [][]byte{key, who}, KeyCount: 2, Who: []byte("0123456789abcdef\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
		{Verb: engine.Acquire, Key: key, Limit: limits.Limit{Algorithm: limits.FixedWindow, Span: limits.EachMonth, Anchor: calendar.Anchor{Zone: 300, From: 17}, Capacity: 7}, Tokens: 1},
		{Verb: engine.SetOverride, Key: key, Who: who, Parts: []engine.Op{{Key: part.Key, Limit: limits.Limit{Algorithm: limits.FixedWindow, Span: limits.EachYear, Anchor: calendar.Anchor{From: 4<<5 | 6}, Capacity: 7}}}},
		{Verb: engine.Acquire, Key: key, Limit: limits.Limit{Algorithm: limits.FixedWindow, Span: limits.EachMonth, Warn: 80, Anchor: calendar.Anchor{Zone: 300, From: 17}, Capacity: 7}, Tokens: 1},
		{Verb: engine.SetPolicy, Key: key, Parts: []engine.Op{{Key: part.Key, Limit: limits.Limit{Algorithm: limits.TokenBucket, Warn: 100, Capacity: 7, Rate: limits.Rate{Tokens: 3, Period: sec}}}}},
		{Verb: engine.ListWindows, Key: key},
		{Verb: engine.Acquire, Key: key, Limit: limits.Limit{Algorithm: limits.FixedWindow, History: 36, Capacity: 7, Rate: limits.Rate{Period: sec}}, Tokens: 1},
		{Verb: engine.Acquire, Key: key, Limit: limits.Limit{Algorithm: limits.FixedWindow, Span: limits.EachYear, History: 3, Warn: 80, Anchor: calendar.Anchor{Zone: 300, From: 4<<5 | 6}, Capacity: 7}, Tokens: 1},
		{Verb: engine.Extend, Key: key, Nth: 1, Tokens: 1},
		{Verb: engine.Extend, Key: key, Nth: 300, Tokens: 500, MaxWait: sec, Options: engine.UpTo | engine.DeclaredOnly, Args: [][]byte{key, who}, PriorAt: sec},
		{Verb: engine.Acquire, Key: key, Limit: part.Limit, Tokens: 300, Options: engine.Spread | engine.UpTo, Keep: 1, PriorAt: sec},
		{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: key, Limit: part.Limit, Tokens: 1, Options: engine.Spread}, {Key: who, Limit: part.Limit, Tokens: 2, Options: engine.Spread | engine.FixedCost}}},
		{Verb: engine.SetPolicy, Key: key, Parts: []engine.Op{{Key: part.Key, Limit: part.Limit, Options: engine.Spread}}},
		{Verb: engine.Acquire, Key: key, Limit: limits.Limit{Algorithm: limits.FixedWindow, Span: limits.EachMonth, History: 2, Rollover: 50, Warn: 80, Capacity: 7}, Tokens: 1},
		{Verb: engine.Acquire, Key: key, Limit: limits.Limit{Algorithm: limits.SlidingSegments, Segments: 20, Capacity: 7, Rate: limits.Rate{Period: sec}}, Tokens: 1},
		{Verb: engine.Reserve, Key: key, MaxWait: sec, Parts: []engine.Op{{Verb: engine.AddCredits, Key: who, Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: 300, PriorAt: sec}}},
		{Verb: engine.ListCredits, Key: key},
		{Verb: engine.AcquireAll, Tokens: 3, Parts: []engine.Op{{Key: key, Limit: part.Limit, Tokens: 3}, {Key: who, Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: 3, Options: engine.Else}}},
		{Verb: engine.SetPolicy, Key: key, Parts: []engine.Op{{Key: part.Key, Limit: part.Limit}, {Key: window.Key, Limit: limits.Limit{Algorithm: limits.Balance}, Options: engine.Else}}},
		{Verb: engine.SetPolicy, Key: key, Parts: []engine.Op{{Key: part.Key, Limit: part.Limit}, {Key: window.Key, Limit: limits.Limit{Algorithm: limits.Penalty, Capacity: 5, Rate: limits.Rate{Period: sec}, Ban: 2 * sec, LongestBan: 300 * sec}}}},
		engine.ExpectPolicies([engine.PoliciesSumBytes]byte{1, 300 - 256}),
	}
}

// The bytes of operations are those of format version 1. A later version adds lines to the file, and changes none.
func TestGoldenOps(t *testing.T) {
	path := filepath.Join("testdata", "ops-v1.txt")
	var text strings.Builder
	for _, op := range goldenOps() {
		fmt.Fprintf(&text, "%d %x\n", op.Verb, new(Writer).Append(nil, &op))
	}
	if *update {
		if before, err := os.ReadFile(path); err != nil || !strings.HasPrefix(text.String(), string(before)) {
			t.Fatalf("%s gets lines at its end, and keeps the others: nodes of a released version write them (%v)", path, err)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(golden) != text.String() {
		t.Errorf("operations are written as\n%s\nand not as\n%s", text.String(), golden)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(golden)), "\n") {
		_, digits, _ := strings.Cut(line, " ")
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		var r Reader
		var op engine.Op
		r.Reset(b)
		if err := r.Next(&op); err != nil || r.More() || !sameOp(op, goldenOps()[i]) {
			t.Errorf("line %d: %v, read as %+v", i+1, err, op)
		}
	}
}

// withVerbs gives every verb up to last a row in the table until the test ends; new ones have the layout of a Release.
func withVerbs(t *testing.T, last engine.Verb) {
	known := opLayouts
	t.Cleanup(func() { opLayouts = known })
	opLayouts = slices.Clone(known)
	for len(opLayouts) <= int(last) {
		opLayouts = append(opLayouts, opLayout{fields: fieldKey | fieldWho | fieldTokens, options: byte(engine.Peek)})
	}
}

// Verbs from 15 on follow the head in a separate byte.
func TestVerbsBeyondTheHead(t *testing.T) {
	first := engine.Verb(len(opLayouts))
	withVerbs(t, 255)
	var w Writer
	var b []byte
	var ops []engine.Op
	for verb := first; verb != 0; verb++ {
		ops = append(ops, engine.Op{Verb: verb, Key: []byte("key"), Who: []byte("who"), Tokens: 300, Options: engine.Peek}, engine.Op{Verb: verb, Tokens: 1})
	}
	for i := range ops {
		at := len(b)
		b = w.Append(b, &ops[i])
		if verb := ops[i].Verb; verb < verbFollows && b[at]&verbMask != byte(verb) || verb >= verbFollows && (b[at]&verbMask != verbFollows || b[at+1] != byte(verb)) {
			t.Errorf("verb %d is written as %x", verb, b[at:])
		}
	}
	var r Reader
	var op engine.Op
	r.Reset(b)
	for i := range ops {
		if err := r.Next(&op); err != nil || !sameOp(op, ops[i]) {
			t.Fatalf("%v:\nread  %+v\nwrote %+v", err, op, ops[i])
		}
	}
	if r.More() || w.Err() != nil {
		t.Errorf("more is left than was written, or it cannot be read: %v", w.Err())
	}
}

// The separate byte may hold any verb, so that every layer that carries operations can be tested with it.
func TestVerbInAByteOfItsOwn(t *testing.T) {
	for _, op := range goldenOps() {
		if op.Verb >= verbFollows {
			continue // it is in a separate byte
		}
		short := new(Writer).Append(nil, &op)
		long := append([]byte{short[0] | verbFollows, byte(op.Verb)}, short[1:]...)
		var r Reader
		var read engine.Op
		r.Reset(long)
		if err := r.Next(&read); err != nil || !sameOp(read, op) {
			t.Errorf("%x: %v, read as %+v", long, err, read)
		}
		if again := new(Writer).Append(nil, &read); !bytes.Equal(again, short) {
			t.Errorf("%x is written again as %x, not as %x", long, again, short)
		}
	}
}
