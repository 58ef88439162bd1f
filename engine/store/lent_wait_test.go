package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// The wait of a denial beside loans that end is true: then, and not before, the same request is granted if nobody else
// comes. A loan without an end counts as spent now, so the request is granted by then if the holder states that.
func TestWaitIsTrueBesideLoans(t *testing.T) {
	const second = int64(1e9)
	limits := []limits.Limit{
		{Algorithm: limits.TokenBucket, Capacity: 80, Rate: limits.Rate{Tokens: 1, Period: second}}, {Algorithm: limits.GCRA, Capacity: 80, Rate: limits.Rate{Tokens: 7, Period: 10 * second}},
		{Algorithm: limits.FixedWindow, Capacity: 80, Rate: limits.Rate{Tokens: 0, Period: 20 * second}}, {Algorithm: limits.FixedWindow, Capacity: 80, Rate: limits.Rate{Tokens: 0, Period: 7 * second}, Span: limits.Aligned},
	}
	denied, dated := 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		s, limit, now := New(Config{Shards: 1}), limits[seed%4], epoch+r.Int64N(30*second)
		isDated := r.IntN(4) > 0
		for i := range 1 + r.IntN(4) {
			op := engine.Op{Verb: engine.Lend, Key: []byte("k"), Limit: limit, Tokens: 1 + r.Int64N(10), Who: fmt.Append(nil, "w", i), Loan: &engine.Loan{Number: uint64(i + 1)}}
			if isDated {
				op.MaxWait = second + r.Int64N(40*second)
			}
			ask(s, now, op)
			if now += r.Int64N(2 * second); r.IntN(2) == 0 {
				ask(s, now, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 1 + r.Int64N(30)})
			}
		}
		request := engine.Op{Key: []byte("k"), Limit: limit, Tokens: 1 + r.Int64N(85)}
		if r.IntN(4) == 0 {
			request.Keep = engine.KeepTokens(r.Int64N(20))
		}
		peek := request
		peek.Options = engine.Peek
		res := ask(s, now, request)
		switch {
		case res.Allowed:
		case res.Wait == engine.NeverWait:
			if request.Tokens+max(0, int64(request.Keep)) <= limit.Capacity && request.Keep >= 0 {
				t.Errorf("seed %d: never, of %d tokens", seed, request.Tokens)
			}
		case res.Wait <= 0:
			t.Errorf("seed %d: denied with a wait of %d", seed, res.Wait)
		case isDated:
			dated++
			if before := ask(s, now+res.Wait-1, peek); before.Allowed {
				t.Errorf("seed %d, %v: %d tokens are granted before the wait of %d", seed, limit.Algorithm, request.Tokens, res.Wait)
			}
			if then := ask(s, now+res.Wait, request); !then.Allowed {
				t.Errorf("seed %d, %v: %d tokens are not granted after the wait of %d, but after %d more", seed, limit.Algorithm, request.Tokens, res.Wait, then.Wait)
			}
		default:
			denied++
			for i := range 4 {
				ask(s, now, engine.Op{Verb: engine.Return, Key: []byte("k"), Who: fmt.Append(nil, "w", i), Loan: &engine.Loan{Number: 100, Previous: uint64(i + 1)}})
			}
			if then := ask(s, now+res.Wait, request); !then.Allowed {
				t.Errorf("seed %d, %v: %d tokens are not granted after the wait of %d", seed, limit.Algorithm, request.Tokens, res.Wait)
			}
		}
		s.Close()
	}
	if denied < 50 || dated < 200 {
		t.Errorf("%d denied, %d beside loans that end", denied, dated)
	}
}
