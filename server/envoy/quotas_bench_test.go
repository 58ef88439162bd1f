package envoy

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	quota "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"

	"github.com/stintdb/stint/server/rlqs"
)

// BenchmarkQuotaReport is a report over a connection and the answer, for one bucket and for a hundred. Both ends run
// here.
func BenchmarkQuotaReport(b *testing.B) {
	for _, buckets := range []int{1, 100} {
		b.Run(fmt.Sprint(buckets), func(b *testing.B) {
			h := newHost(b, nil)
			s := h.quotas(context.Background())
			var all []*quota.RateLimitQuotaUsageReports_BucketQuotaUsage
			for i := range buckets {
				all = append(all, usageOf(fmt.Sprintf("table=%d", i), 5, 10, 0))
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.ask("shop", all...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// heap returns the bytes of Go's heap and stacks in use.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkQuotaStreams prints the bytes of an Envoy's connection with a stream and one bucket, including Envoy's end.
func BenchmarkQuotaStreams(b *testing.B) {
	const streams = 100
	h, before := newHost(b, nil), heap()
	for range streams {
		if _, err := h.quotas(context.Background()).ask("shop", usageOf("table=orders", 0, 1, 0)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((heap()-before)/streams, "B/stream")
}

// BenchmarkQuotaMemory prints the bytes of a bucket with a limit, without its loans at home.
func BenchmarkQuotaMemory(b *testing.B) {
	const streams = 100
	for b.Loop() {
		before := heap()
		table := rlqs.NewTable("rlqs/bench", 1)
		var open []*rlqs.Stream
		buckets := 0
		for i := range streams {
			s := table.NewStream()
			for j := range 100 {
				pairs := map[string]string{"user": fmt.Sprintf("%d-%d", i, j)}
				s.Report(1, []rlqs.Usage{{ID: idOf(pairs), Pairs: pairs, Kind: rlqs.Bucket, Key: "rls.shop:user=" + pairs["user"], Limit: rlqs.Limit{Capacity: 100, Tokens: 100, Period: 1e9}}})
				buckets++
			}
			open = append(open, s)
		}
		b.ReportMetric((heap()-before)/float64(buckets), "B/bucket")
		runtime.KeepAlive(open)
		runtime.KeepAlive(table)
	}
}
