package store

import (
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// TryReadOnly answers trees as Apply does: denials, except those that register a class.
func TestTreesAreReadOnlyAsApplied(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 20))
	a, b, now := New(Config{}), New(Config{}), epoch
	defer a.Close()
	defer b.Close()
	answered, registered := 0, 0
	for i := range 5000 {
		now += r.Int64N(sec / 4)
		op, res := randomTree(r), engine.Result{}
		want := ask(a, now, op)
		switch {
		case b.TryReadOnly(now, &op, &res):
			answered++
		case !want.Allowed:
			registered++
			fallthrough
		default:
			res = ask(b, now, op)
		}
		if res.Allowed != want.Allowed || res.Wait != want.Wait || res.Parts[0].Remaining != want.Parts[0].Remaining {
			t.Fatalf("request %d: %+v, want %+v", i, res, want)
		}
	}
	if answered < 100 || registered < 100 {
		t.Errorf("%d denials answered alone, and %d that register", answered, registered)
	}
}

func TestTreesAllocateNothing(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	l := bucketOf(limits.Class, limits.MaxTokens, limits.MaxTokens, sec)
	ops, results := []engine.Op{treeOp(1, bucketOf(limits.TokenBucket, 10, 10, sec), []string{"class", "team", "root"}, l, l, l)}, make([]engine.Result, 1)
	s.Apply(epoch, ops, results)
	if n := testing.AllocsPerRun(100, func() { s.Apply(epoch, ops, results) }); n > 0.5 {
		t.Errorf("%v allocations a request", n)
	}
}
