package allowance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// The decision on one of 100,000 keys by a store alone, and by the leader's allowance.
func BenchmarkAllowance(b *testing.B) {
	const keys = 100_000
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 400, Rate: limits.Rate{Tokens: 100, Period: int64(time.Second)}}
	ops := make([]engine.Op, keys)
	for i := range ops {
		ops[i] = engine.Op{Verb: engine.Acquire, Key: fmt.Append(nil, "user:", i*7919%keys), Limit: limit, Tokens: 1}
	}
	now := time.Now().UnixNano()
	b.Run("store", func(b *testing.B) {
		s := store.New(store.Config{})
		defer s.Close()
		var res [1]engine.Result
		for i := 0; b.Loop(); i++ {
			at := i % keys
			s.Apply(now+int64(i)*2000, ops[at:at+1], res[:])
		}
	})
	b.Run("allowance", func(b *testing.B) {
		log := store.New(store.Config{Replicated: true})
		defer log.Close()
		allowance := New(log, func() int64 { return now }, func() int64 { return now })
		term := allowance.newTerm(now, false)
		term.IsOpen.Store(true)
		var res engine.Result
		for i := 0; b.Loop(); i++ {
			if !allowance.Decide(term, now+int64(i)*2000, &ops[i%keys], &res) {
				b.Fatal("it was not answered in memory")
			}
		}
	})
}
