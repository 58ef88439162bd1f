package propose

import (
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
)

// Histogram counts latencies.
type Histogram struct {
	buckets [len(latencyBounds) + 1]atomic.Int64
	sum     atomic.Int64
}

func (l *Histogram) observe(d time.Duration) {
	at := 0
	for at < len(latencyBounds) && d > latencyBounds[at] {
		at++
	}
	l.buckets[at].Add(1)
	l.sum.Add(int64(d))
}

// Read returns the counts so far.
func (l *Histogram) Read() clusterstatus.Latency {
	r := clusterstatus.Latency{Bounds: latencyBounds[:], Sum: time.Duration(l.sum.Load())}
	for i := range l.buckets {
		r.Counts = append(r.Counts, l.buckets[i].Load())
	}
	return r
}

// latencyBounds are the upper bounds of the buckets of latencies.
var latencyBounds = [...]time.Duration{
	250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond, 8 * time.Millisecond, 16 * time.Millisecond,
	32 * time.Millisecond, 64 * time.Millisecond, 125 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second,
}
