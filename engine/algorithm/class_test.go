package algorithm

import (
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

var ceiling = limits.Limit{Algorithm: limits.Class, Capacity: 10, Rate: limits.Rate{Tokens: 1, Period: int64(s)}}

// Without others below it, a node is a token bucket.
func TestClassAlone(t *testing.T) {
	testSteps(t, ceiling, []step{
		{at: 0, tokens: 4, want: "granted, 6 left, full in 4s"},
		{at: 0, tokens: 7, want: "denied, 6 left, wait 1s"},
		{at: s, tokens: 7, want: "granted, 0 left, full in 10s"},
		{at: s, tokens: 11, want: "denied, 0 left, never"},
		{at: 11 * s, tokens: 10, want: "granted, 0 left, full in 10s"},
	})
}

// A node keeps the capacity assured to its registered children. A registration ends ten minutes after the last request,
// at a whole step.
func TestClassRegistration(t *testing.T) {
	const began = 1_700_000_000 * int64(s)
	var root took
	for i, c := range []struct {
		at         time.Duration
		child      string
		assured    int64
		news       bool
		kept, free int64
		wait       time.Duration // until 6 tokens could be borrowed
	}{
		{0, "a", 3, true, 3, 10, 0},
		{0, "a", 3, false, 3, 10, 0},
		{s, "b", 2, true, 5, 10, 10*time.Minute + 9*s}, // only once a registration ends
		{s, "a", 4, true, 6, 10, 10*time.Minute + 9*s},
		{10*time.Minute + 20*s, "b", 2, true, 2, 10, 0}, // the others have ended
	} {
		now := began + int64(c.at)
		var leaf, node Call
		var res [2]engine.Result
		who := engine.AppendAssured(nil, c.assured, limits.Rate{Tokens: 1, Period: int64(s)})
		leaf.Begin(now, &engine.Op{Verb: engine.Acquire, Key: []byte(c.child), Limit: ceiling, Tokens: 6, Who: who}, &res[0])
		leaf.ScanAsked(RegistrationEnd(now))
		node.Begin(now, &engine.Op{Verb: engine.Acquire, Key: []byte("root"), Limit: ceiling, Tokens: 6}, &res[1])
		if root.state != nil {
			node.Open(&root.limit, root.state)
		}
		scan := node.ScanClass()
		node.Register(&leaf.Class, RegistrationEnd(now))
		wait := time.Duration(max(0, node.WaitClass(scan.Total())))
		if scan.IsNews != c.news || scan.Total() != c.kept || scan.Free != c.free || wait != c.wait {
			t.Errorf("step %d: news %v, %d kept of %d, wait %v; want %+v", i, scan.IsNews, scan.Total(), scan.Free, wait, c)
		}
		if node.ReportClass(scan.Free, 0); node.IsToBeKept() {
			root.keep(&node)
		}
	}
}

// The end of a registration moves in steps, so that a request seldom changes the state for it alone.
func TestRegistrationEnd(t *testing.T) {
	const minute = int64(time.Minute)
	for _, c := range []struct{ now, want int64 }{
		{0, 10*minute + 10*int64(s)}, {1, 10*minute + 10*int64(s)}, {10*int64(s) - 1, 10*minute + 10*int64(s)}, {10 * int64(s), 10*minute + 20*int64(s)},
	} {
		if got := RegistrationEnd(c.now); got != c.want {
			t.Errorf("a request at %d registers until %d, want %d", c.now, got, c.want)
		}
	}
}
