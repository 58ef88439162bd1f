package store

import (
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// A limit whose request is given back never has more left than one that was not asked, whatever others take before and
// after.
func TestGivingBackWhatIsStillTakenGrantsNothing(t *testing.T) {
	r, histories := rand.New(rand.NewPCG(3, 9)), testsize.Pick(500, 2000)
	for _, limit := range []limits.Limit{
		{Algorithm: limits.GCRA, Capacity: 7, Rate: limits.Rate{Tokens: 3, Period: sec}}, bucket(7, 3, sec), {Algorithm: limits.LeakyBucket, Capacity: 7, Rate: limits.Rate{Tokens: 7, Period: sec}},
		{Algorithm: limits.LeakyQueue, Capacity: 7, Rate: limits.Rate{Tokens: 3, Period: sec}}, {Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 7, Rate: limits.Rate{Tokens: 0, Period: 5 * sec}},
		{Algorithm: limits.SlidingWindow, Capacity: 7, Rate: limits.Rate{Tokens: 0, Period: 5 * sec}},
	} {
		whole, part, none := 0, 0, 0
		for range histories {
			asked, unasked := New(Config{Shards: 1}), New(Config{Shards: 1})
			now := epoch
			// Others take the same from both.
			others := func() {
				for range r.IntN(4) {
					now += r.Int64N(sec)
					op := engine.Op{Key: []byte("k"), Limit: limit, Tokens: 1 + r.Int64N(2)}
					peek := op
					peek.Options = engine.Peek
					if ask(asked, now, peek).Allowed && ask(unasked, now, peek).Allowed {
						ask(asked, now, op)
						ask(unasked, now, op)
					}
				}
			}
			others()
			begin := now
			request := ask(asked, now, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 1 + r.Int64N(7)})
			others()
			now += r.Int64N([]int64{1, sec, 8 * sec}[r.IntN(3)])
			others()
			back := request.StillTaken(limit, now-begin)
			switch {
			case back == 0:
				none++
			case back == request.Granted:
				whole++
			default:
				part++
			}
			if back > 0 {
				ask(asked, now, engine.Op{Verb: engine.Refund, Key: []byte("k"), Tokens: back})
			}
			for range 3 {
				report := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Options: engine.Peek, Parts: []engine.Op{{Key: []byte("k"), Limit: limit, Options: engine.FixedCost | engine.Peek}}}
				left, leftUnasked := ask(asked, now, report).Parts[0], ask(unasked, now, report).Parts[0]
				if left.Remaining > leftUnasked.Remaining || left.Reset < leftUnasked.Reset {
					t.Fatalf("%v: %d of %+v were given back after %d: %+v left, and without it %+v", limit, back, request, now-begin, left, leftUnasked)
				}
				others()
			}
		}
		if whole < histories/100 || none < histories/20 {
			t.Errorf("%v: %d given back in whole, %d in part, %d not at all", limit, whole, part, none)
		}
	}
}
