package store

import (
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
)

// A Lend with requests that wait does the same as these requests one after the other, and then a Lend without them.
func TestMergedRequestsAreAcquires(t *testing.T) {
	for name, limit := range lentLimits {
		t.Run(name, func(t *testing.T) {
			granted, denied := 0, 0
			for seed := range uint64(300) {
				r := rand.New(rand.NewPCG(seed, 11))
				one, other := New(Config{Shards: 1}), New(Config{Shards: 1})
				now, known, left, number := epoch, uint64(0), int64(0), uint64(0)
				for range 60 {
					now += r.Int64N(sec)
					spent := r.Int64N(left + 1)
					left -= spent
					waiting, each, want := 1+r.Int64N(8), 1+r.Int64N(limit.Capacity/10), r.Int64N(limit.Capacity)
					number += 2
					lend := engine.Op{Verb: engine.Lend, Key: lentKey, Who: []byte("h"), Limit: limit}

					first := lend
					first.Loan = &engine.Loan{Number: number - 1, Previous: known, Left: left}
					second := lend
					second.Tokens, second.Loan = want, &engine.Loan{Number: number, Previous: ask(other, now, first).Number, Left: left}
					tokens, wait := int64(0), int64(0)
					for range waiting {
						res := ask(other, now, engine.Op{Key: lentKey, Limit: limit, Tokens: each})
						if tokens += res.Granted; !res.Allowed && wait == 0 {
							wait = res.Wait
							denied++
						}
						granted += int(res.Granted)
					}
					want2 := ask(other, now, second)

					lend.Tokens, lend.Options, lend.Loan = want, engine.Merged, &engine.Loan{Number: number, Previous: known, Left: left, Waiting: waiting, Each: each}
					got := ask(one, now, lend)
					if merged(&lend, &got) != tokens || got.Granted-tokens != want2.Granted || got.Wait != wait || got.Remaining != want2.Remaining || got.Reset != want2.Reset || got.Lent != want2.Lent {
						t.Fatalf("seed %d: %d requests for %d: %d granted, the wait %d, then %+v; together %+v", seed, waiting, each, tokens, wait, want2, got)
					}
					left += want2.Granted
					if known = got.Number; got.Number != want2.Number {
						// The one Lend was not needed, or the loan of the other was made by its first: the numbers differ, and nothing
						// else.
						ask(other, now, engine.Op{Verb: engine.Return, Key: lentKey, Who: lend.Who, Loan: &engine.Loan{Number: number + 1, Previous: want2.Number, Left: left}})
						ask(one, now, engine.Op{Verb: engine.Return, Key: lentKey, Who: lend.Who, Loan: &engine.Loan{Number: number + 1, Previous: got.Number, Left: left}})
						known, left = 0, 0
						number += 2
					}
				}
				one.Close()
				other.Close()
			}
			if granted < 100 || denied < 100 {
				t.Errorf("%d tokens granted, %d requests denied", granted, denied)
			}
		})
	}
}
