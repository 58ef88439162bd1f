package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// BenchmarkFrozenStop tells how long single operations on random keys take while a store of many keys is frozen and
// scanned beside them, and while it is not: the longest, and one in a thousand.
func BenchmarkFrozenStop(b *testing.B) {
	for _, keys := range []int{1_000_000, 10_000_000} {
		s := New(Options{})
		limit := bucket(MaxTokens, MaxTokens/1000, 3600*sec)
		op, results := []Op{{Limit: limit, Tokens: MaxTokens / 2}}, make([]Result, 1)
		for i := range keys {
			op[0].Key = keyOf(i)
			s.Apply(epoch, op, results)
		}
		op[0].Tokens = 1
		for _, frozen := range []bool{false, true} {
			b.Run(fmt.Sprintf("keys=%d/frozen=%t", keys, frozen), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 15))
				var took []time.Duration
				scans, entries := time.Duration(0), 0
				for range b.N {
					done := make(chan struct{})
					if frozen {
						f := s.Freeze()
						go func() {
							start := time.Now()
							f.Scan(epoch, func(e Entry) { entries += len(e.State) & 1; entries++ })
							f.Release()
							scans += time.Since(start)
							close(done)
						}()
					} else {
						time.AfterFunc(500*time.Millisecond, func() { close(done) })
					}
					for over := false; !over; {
						op[0].Key = keyOf(r.IntN(keys))
						start := time.Now()
						s.Apply(epoch, op, results)
						took = append(took, time.Since(start))
						select {
						case <-done:
							over = true
						default:
						}
					}
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)-1].Microseconds()), "longest-µs")
				b.ReportMetric(float64(took[len(took)*999/1000].Microseconds()), "p999-µs")
				b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "median-ns")
				b.ReportMetric(scans.Seconds()/float64(b.N), "scan-s")
				b.ReportMetric(float64(len(took))/float64(b.N), "ops")
			})
		}
		s.Close()
	}
}
