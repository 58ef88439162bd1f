package store

import (
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// Whatever has a state has its times turned back.
func TestEveryStateIsRewound(t *testing.T) {
	for a := limits.NoAlgorithm + 1; a.Known(); a++ {
		if row := &algorithm.Table[a]; row.Rewind == nil {
			t.Errorf("%s (%d) has no rewind", a, a)
		}
	}
}

// A store that was rewound goes on as the store that it is made from, at earlier times. They are earlier by a multiple
// of all windows but months.
func TestRewoundStoreGoesOnAlike(t *testing.T) {
	const by = 364 * 24 * 3600 * sec
	compared := map[limits.Algorithm]int{}
	for seed := range uint64(testsize.Pick(30, 200)) {
		r := rand.New(rand.NewPCG(seed, 13))
		ahead := New(Config{Shards: 4, Commands: txSteps{}})
		now := epoch
		results, rewound := make([]engine.Result, 1), make([]engine.Result, 1)
		for range 400 {
			now += r.Int64N(sec / 5)
			ahead.Apply(now, []engine.Op{randomStep(r)}, results)
		}
		// What the steps meet depends on how many algorithms there are: this is there in any case.
		ask(ahead, now, engine.Op{Key: []byte("plain"), Limit: limits.Limit{Algorithm: limits.FixedWindow, Capacity: 5, Rate: limits.Rate{Period: sec}}, Tokens: 1})
		ask(ahead, now, engine.Op{Key: []byte("cut"), Limit: limits.Limit{Algorithm: limits.SlidingSegments, Segments: 2, Capacity: 5, Rate: limits.Rate{Period: sec}}, Tokens: 1})
		back := New(Config{Shards: 2, Commands: txSteps{}})
		ahead.Scan(0, 1<<30, now, func(e keyspace.Entry) {
			compared[e.Limit.Algorithm]++
			if err := back.Load(now-by, e); err != nil {
				t.Fatal(err)
			}
		})
		ahead.PolicyOps(func(op *engine.Op) { ask(back, now-by, *op) })
		back.Rewind(now, now-by)
		for i := range 400 {
			now += r.Int64N(sec / 5)
			op := randomStep(r)
			if op.Verb == engine.Settle || op.Verb == engine.Command || op.Verb == engine.Script || op.Verb == engine.Reserve && op.Request().Verb == engine.AddCredits { // marks of windows are not turned back; arguments may be times
				continue
			}
			ahead.Apply(now, []engine.Op{op}, results)
			back.Apply(now-by, []engine.Op{op}, rewound)
			if !sameResult(results[0], rewound[0]) {
				t.Fatalf("seed %d step %d: %+v is answered\n%+v\n%+v", seed, i, op, shown(results[0]), shown(rewound[0]))
			}
		}
		ahead.Close()
		back.Close()
	}
	t.Log(compared)
	for a := limits.NoAlgorithm + 1; a.Known(); a++ {
		if a.Home() == limits.NoAlgorithm && (!a.IsValue() || a == limits.StringValue) && compared[a] == 0 {
			t.Errorf("no state of %s (%d) was compared", a, a)
		}
	}
}

// By whichever time a store is rewound, a sliding window grants no more than it would have.
func TestRewoundWindowGrantsNoMore(t *testing.T) {
	limit := limits.Limit{Algorithm: limits.SlidingWindow, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}}
	for by := int64(365*24*3600) * sec; by < 365*24*3600*sec+120*sec; by += 7 * sec {
		ahead, back := New(Config{Shards: 1}), New(Config{Shards: 1})
		now := epoch + 13*sec
		ask(ahead, now, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 6})
		ahead.Scan(0, 10, now, func(e keyspace.Entry) {
			if err := back.Load(now-by, e); err != nil {
				t.Fatal(err)
			}
		})
		back.Rewind(now, now-by)
		for range 20 {
			now += 5 * sec
			op := engine.Op{Key: []byte("k"), Limit: limit, Tokens: 10, Options: engine.UpTo}
			a, b := ask(ahead, now, op), ask(back, now-by, op)
			if b.Granted > a.Granted {
				t.Errorf("by %d s: %d tokens, not %d", by/sec, b.Granted, a.Granted)
			}
			if a.Granted > 0 || b.Granted > 0 {
				break
			}
		}
		ahead.Close()
		back.Close()
	}
}

// A key from before the clock ran ahead stays as it is.
func TestRewindLeavesEarlierKeys(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	daily := bucket(10, 10, 24*3600*sec)
	ask(s, epoch, engine.Op{Key: []byte("before"), Limit: daily, Tokens: 10})
	ask(s, epoch+365*24*3600*sec, engine.Op{Key: []byte("ahead"), Limit: daily, Tokens: 10})
	s.Rewind(epoch+365*24*3600*sec, epoch+60*sec)
	for _, key := range []string{"before", "ahead"} {
		if res := ask(s, epoch+60*sec, engine.Op{Key: []byte(key), Limit: daily, Tokens: 1}); res.Allowed || res.Wait > 24*3600*sec {
			t.Errorf("%s: %+v", key, res)
		}
	}
}
