package rlqs

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

// Reports that lie, with numbers that no Envoy can have, do not let others grant more than the limit.
func TestReportsThatLie(t *testing.T) {
	for _, limit := range faultLimits {
		most, unlent := 0.0, 0.0
		for seed := range uint64(testsize.Pick(3, 100)) {
			w := newWorld(seed+testsize.Seed(), limit, 2, uneven(6, limit.perSecond()*3)...)
			liar := w.nodes[0].NewStream()
			for range 60 {
				w.run(time.Duration(1+w.r.IntN(700)) * time.Millisecond)
				numbers := []int64{0, 1, limit.Capacity, 1 << 40, math.MaxInt64}
				spans := []time.Duration{math.MinInt64, -time.Second, 0, 1, time.Second, math.MaxInt64}
				usage := Usage{ID: "a", Pairs: map[string]string{"a": "b"}, Kind: Bucket, Key: modelKey, Limit: limit, Learned: w.now,
					Elapsed: spans[w.r.IntN(len(spans))], Allowed: numbers[w.r.IntN(len(numbers))], Denied: numbers[w.r.IntN(len(numbers))]}
				w.carryOut(w.nodes[0], liar.Report(w.now, []Usage{usage, usage}))
				w.carryOut(w.nodes[0], liar.Loans(w.now))
				liar.Assign(w.now)
			}
			most, unlent = max(most, w.highest), max(unlent, w.unlent)
			w.home.Close()
		}
		t.Logf("%v: %.3f of the capacity beyond the rate, %.3f not set aside", limit, most, unlent)
		if most > 1+1e-9 || unlent > 1e-9 {
			t.Errorf("%v: %.4f of the capacity granted beyond the rate, %.4f not set aside", limit, most, unlent)
		}
	}
}

// A bucket that is in a report twice is answered once.
func TestBucketTwiceInAReport(t *testing.T) {
	s := NewTable("a", 1).NewStream()
	usage := usagesOf(1, 1, 10)[0]
	s.Report(time.Second, []Usage{usage, usage, usage})
	if all := s.Assign(time.Second); len(all) != 1 {
		t.Errorf("%d answers", len(all))
	}
}

// Envoys can have many buckets of one limit, by ids that their clients choose. A node keeps 4096 of them, so that a
// report costs little.
func TestBucketsOfALimitAreBounded(t *testing.T) {
	table, joined := NewTable("a", 1), 0
	for i := range 20 {
		all := usagesOf(i, 256, 10)
		for j := range all {
			all[j].Key = "k"
		}
		s := table.NewStream()
		refused := s.abandons(all)
		if joined += len(all) - refused; i == 19 && refused != len(all) {
			t.Errorf("of %d buckets of a limit %d are abandoned", len(all), refused)
		}
	}
	if joined != MaxOfLimit || table.Counts().Refused != 20*256-MaxOfLimit {
		t.Errorf("%d buckets of one limit, want %d; %+v", joined, MaxOfLimit, table.Counts())
	}
	if n := table.NewStream().abandons(usagesOf(99, 1, 10)); n != 0 {
		t.Error("a bucket of another limit is abandoned")
	}
}

// BenchmarkFullLimit is a report of a stream with 256 buckets of a limit that has as many on this node as it may have.
func BenchmarkFullLimit(b *testing.B) {
	table := NewTable("a", 1)
	var s *Stream
	var all []Usage
	for i := range MaxOfLimit / 256 {
		all = nil
		for j := range 256 {
			all = append(all, Usage{ID: fmt.Sprint(j), Pairs: map[string]string{"a": "b"}, Kind: Bucket, Key: "k", Limit: Limit{100, 100, time.Second}, Learned: 1, Allowed: int64(i + j)})
		}
		s = table.NewStream()
		s.Report(time.Second, all)
		s.Assign(time.Second)
	}
	b.ResetTimer()
	for i := range b.N {
		now := time.Duration(i+2) * time.Second
		s.Report(now, all)
		s.Loans(now)
		s.Loans(now)
		s.Assign(now)
	}
}
