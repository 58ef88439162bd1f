package cluster

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/command/data"
)

// A replica that is added again carries out the log from its beginning, on a store that has carried out a part of it
// before. So a cleared store answers like a new one, and comes to the same state.
func TestClearedStoreIsLikeANewOne(t *testing.T) {
	s := store.New(store.Config{Shards: 4, Replicated: true, Commands: &data.Executor{}})
	defer s.Close()
	life := func(operations int) (answers []engine.Result, digest [32]byte) {
		s.OwnTimes.SetDistinct(true)
		r, now := rand.New(rand.NewPCG(testsize.Seed(), 21)), int64(946684800e9)
		for range operations {
			now += r.Int64N(3) * 1000
			ops, results := []engine.Op{anyOp(r)}, make([]engine.Result, 1)
			if r.IntN(2) == 0 {
				ops[0] = randomScript(r)
			}
			s.Apply(now, ops, results)
			answers = append(answers, results[0])
		}
		return answers, s.Digest(now)
	}
	first, digest := life(3000)
	s.Clear()
	second, again := life(3000)
	for i := range first {
		if !reflect.DeepEqual(first[i], second[i]) {
			t.Fatalf("operation %d: %+v first, and %+v after the store was cleared", i, first[i], second[i])
		}
	}
	if digest != again {
		t.Error("another state after the store was cleared")
	}
}
