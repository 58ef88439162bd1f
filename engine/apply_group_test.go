package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A batch decides as its operations do one by one, whichever keys come twice, are new, expire or are deleted on the way.
func TestBatchesDecideAsSingleOperations(t *testing.T) {
	for _, shards := range []int{1, 4, 1024} {
		r := rand.New(rand.NewPCG(22, uint64(shards)))
		batched, single, now := New(Config{Shards: shards}), New(Config{Shards: shards}), epoch
		denied := 0
		for i := range 3000 {
			now += r.Int64N(2 * sec)
			ops := make([]Op, 1+r.IntN(20))
			for j := range ops {
				ops[j] = Op{Key: fmt.Append(nil, "key", r.IntN(30)), Limit: bucket(1+r.Int64N(2), 3, sec), Tokens: 1 + r.Int64N(2)}
				switch r.IntN(12) {
				case 0:
					ops[j].Verb = Delete
				case 1:
					ops[j].Limit = Limit{Algorithm: SlidingLog, Capacity: 3, Rate: Rate{0, sec}}
				case 2:
					ops[j] = severalOf(1, Op{Key: ops[j].Key, Limit: bucket(2, 3, sec)}, Op{Key: []byte("all"), Limit: bucket(9, 9, sec)})
				}
			}
			results, want := make([]Result, len(ops)), make([]Result, len(ops))
			batched.Apply(now, ops, results)
			for j := range ops {
				single.Apply(now, ops[j:j+1], want[j:j+1])
				if got := &results[j]; got.Status != want[j].Status || got.Granted != want[j].Granted || got.Wait != want[j].Wait || got.Remaining != want[j].Remaining {
					t.Fatalf("%d shards, batch %d, operation %d %+v: %+v, want %+v", shards, i, j, ops[j], *got, want[j])
				}
				if want[j].Status == OK && !want[j].Allowed {
					denied++
				}
			}
			if i%100 == 0 && batched.Digest(now) != single.Digest(now) {
				t.Fatalf("%d shards, batch %d: the states differ", shards, i)
			}
		}
		if denied < 100 {
			t.Errorf("%d shards: %d denied", shards, denied)
		}
		batched.Close()
		single.Close()
	}
}
