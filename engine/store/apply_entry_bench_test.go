package store

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// An entry of a cluster's log, some 800 operations on a million keys, carried out by one goroutine, and by two that
// divide the keys: whether that would pay.
func BenchmarkApplyEntry(b *testing.B) {
	const keys, entry = 1_000_000, 800
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1_000_000, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}}
	s := New(Config{Replicated: true})
	defer s.Close()
	all := make([]engine.Op, keys)
	for i := range all {
		all[i] = engine.Op{Verb: engine.Acquire, Key: fmt.Append(nil, "user:", i), Limit: limit, Tokens: 1}
	}
	now := time.Now().UnixNano()
	s.Apply(now, all, make([]engine.Result, keys))
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprint(goroutines), func(b *testing.B) {
			parts, results := make([][]engine.Op, goroutines), make([][]engine.Result, goroutines)
			var done sync.WaitGroup
			for b.Loop() {
				for i := range parts {
					parts[i] = parts[i][:0]
				}
				for range entry { // the division by key is part of the cost
					op := &all[rand.IntN(keys)]
					at := 0
					if goroutines > 1 {
						sh, _ := s.keys.Locate(op.Key)
						at = int(sh.Number) % goroutines
					}
					parts[at] = append(parts[at], *op)
				}
				for i := range parts {
					if len(results[i]) < len(parts[i]) {
						results[i] = make([]engine.Result, entry)
					}
				}
				for i := 1; i < goroutines; i++ {
					done.Go(func() { s.Apply(now, parts[i], results[i][:len(parts[i])]) })
				}
				s.Apply(now, parts[0], results[0][:len(parts[0])])
				done.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entry, "ns/operation")
		})
	}
}
