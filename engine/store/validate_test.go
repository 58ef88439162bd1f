package store

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// A damaged file cannot bring a policy, or a shared limiter, with a limit that no Acquire may ask.
func TestOnlyLimitsThatDecideAreAsked(t *testing.T) {
	asked := 0
	for a := limits.NoAlgorithm; a.Known(); a++ {
		limit := limits.Limit{Algorithm: a, Capacity: 1, Rate: limits.Rate{Tokens: 1, Period: sec}}
		switch {
		case a.IsValue(), a == limits.Balance:
			limit = limits.Limit{Algorithm: a}
		case !a.HasRate():
			limit.Rate.Tokens = 0
		}
		if a.HasLeast() {
			limit.Least = 1
		}
		if a == limits.SlidingSegments {
			limit.Segments = 2
		}
		if a == limits.Penalty {
			limit.Ban, limit.LongestBan = 1, 2
		}
		part := []engine.Op{{Key: []byte("k"), Who: []byte("w"), Limit: limit, Tokens: 1}}
		if a == limits.Class {
			part = treeOp(1, bucket(1, 1, sec), []string{"k", "root"}, limit, limit).Parts
		}
		decides := a.Decides()
		if decides {
			asked++
		}
		for _, op := range []engine.Op{{Verb: engine.SetPolicy, Key: []byte("p"), Parts: part}, {Verb: engine.SetOverride, Key: []byte("p"), Who: []byte("w"), Parts: part}} {
			if err := CheckPolicy(&op); (err == nil) != decides {
				t.Errorf("verb %d with %v: %v", op.Verb, a, err)
			}
		}
		if shared := (&engine.Op{Verb: engine.KeepOverflow, Parts: part[:1]}); !decides && CheckPolicy(shared) == nil {
			t.Errorf("a shared limiter of %v", a)
		}
	}
	if asked < len(limits.Algorithms()) {
		t.Errorf("%d of %d algorithms were asked", asked, len(limits.Algorithms()))
	}
}
