package store

import (
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// A request that a bucket, a window, a log and a balance divide takes the same from each included limit, all of its cost
// in all, and as little from the balance as it can. The wait of a denial is the time at which it is granted.
func TestDividedCostsWaitExactly(t *testing.T) {
	granted, waited, never := 0, 0, 0
	for seed := range uint64(testsize.Pick(200, 2000)) {
		r := rand.New(rand.NewPCG(seed, 66))
		s := New(Config{Shards: 2})
		now := epoch
		ask(s, now, payment("credits", 1+r.Int64N(60), 0))
		for range 60 {
			now += r.Int64N(2 * sec)
			cost := 1 + r.Int64N(25)
			op := severalOf(cost, engine.Op{Key: []byte("bucket"), Limit: bucket(12, 3, sec)},
				engine.Op{Key: []byte("pair"), Limit: limits.Limit{Algorithm: limits.SlidingWindow, Capacity: 15, Rate: limits.Rate{Period: 5 * sec}}},
				engine.Op{Key: []byte("log"), Limit: limits.Limit{Algorithm: limits.SlidingLog, Capacity: 14, Rate: limits.Rate{Period: 4 * sec}}, Keep: engine.KeepTokens(2)},
				engine.Op{Key: []byte("once"), Limit: bucket(6, 2, sec), Tokens: 1, Options: engine.FixedCost},
				engine.Op{Key: []byte("credits"), Limit: limits.Limit{Algorithm: limits.Balance}, Options: engine.Else})
			left := ask(s, now, engine.Op{Verb: engine.Look, Key: []byte("credits")}).Remaining
			res, _ := askTwice(t, s, now, op)
			if !res.Allowed {
				switch {
				case res.Wait == engine.NeverWait:
					if never++; cost-left <= 12 {
						t.Fatalf("seed %d: %d with %d credits never passes", seed, cost, left)
					}
				case ask(s, now+res.Wait-1, op).Allowed:
					t.Fatalf("seed %d: %d is granted before the wait of %d", seed, cost, res.Wait)
				default:
					if now += res.Wait; !ask(s, now, op).Allowed {
						t.Fatalf("seed %d: %d is denied after the wait of %d", seed, cost, res.Wait)
					}
					waited++
				}
				continue
			}
			granted++
			included := res.Parts[0].Granted
			if res.Parts[1].Granted != included || res.Parts[2].Granted != included || res.Parts[3].Granted != 1 || included+res.Parts[4].Granted != cost {
				t.Fatalf("seed %d: %d is divided as %+v", seed, cost, res.Parts)
			}
			isUsedUp := res.Parts[0].Remaining == 0 || res.Parts[1].Remaining == 0 || res.Parts[2].Remaining <= 2
			if res.Parts[4].Granted > 0 && !isUsedUp {
				t.Fatalf("seed %d: credits are taken although all limits have more: %+v", seed, res.Parts)
			}
		}
		s.Close()
	}
	if granted < 100 || waited < 100 || never < 100 {
		t.Errorf("%d granted, %d waited, %d never", granted, waited, never)
	}
}
