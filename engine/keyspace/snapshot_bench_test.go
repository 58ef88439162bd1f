package keyspace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// BenchmarkSnapshotPause measures operations on random keys while a store of many keys is frozen and scanned
// concurrently, and while it is not. It also measures the time for which a scan holds a shard's lock, the longest that
// an operation is blocked. On a machine with more to do than cores the highest values are those of the scheduler.
func BenchmarkSnapshotPause(b *testing.B) {
	for _, keys := range []int{1_000_000, 10_000_000} {
		s := newKeyspace(Config{})
		limit := tokenBucket(limits.MaxTokens, limits.MaxTokens/1000, 3600*second)
		op := engine.Op{Limit: limit, Tokens: limits.MaxTokens / 2}
		for i := range keys {
			op.Key = numberedKey(i)
			askKey(s, begin, op)
		}
		op.Tokens = 1
		for _, frozen := range []bool{false, true} {
			b.Run(fmt.Sprintf("keys=%d/frozen=%t", keys, frozen), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 15))
				var took, passes []time.Duration
				for range b.N {
					done := make(chan struct{})
					if frozen {
						f := s.Snapshot()
						go func() {
							defer close(done)
							defer f.Release()
							passes = append(passes, timedScan(f)...)
						}()
					} else {
						time.AfterFunc(500*time.Millisecond, func() { close(done) })
					}
					for over := false; !over; {
						op.Key = numberedKey(r.IntN(keys))
						start := time.Now()
						askKey(s, begin, op)
						took = append(took, time.Since(start))
						select {
						case <-done:
							over = true
						default:
						}
					}
				}
				report(b, took, "op")
				report(b, passes, "lock")
			})
		}
		s.Close()
	}
}

// timedScan is Scan, and reports the time for which it held a lock each time.
func timedScan(f *Snapshot) (passes []time.Duration) {
	for i := range f.keys.shards {
		sh := &f.keys.shards[i]
		for from := uint64(0); from <= math.MaxUint32; {
			start := time.Now()
			from = f.pass(sh, from)
			passes = append(passes, time.Since(start))
			for rest := f.buffer; len(rest) > 0; {
				rest = sh.show(rest, begin, func(Entry) {})
			}
		}
		f.showCopied(sh, begin, func(Entry) {})
	}
	return passes
}

func report(b *testing.B, took []time.Duration, what string) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	for _, part := range []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}} {
		b.ReportMetric(float64(took[int(part.share*float64(len(took)))].Nanoseconds())/1e3, what+"-"+part.name+"-µs")
	}
}
