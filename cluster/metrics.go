package cluster

import (
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// metrics are a node's counters since its start.
type metrics struct {
	proposed        atomic.Int64 // by this node
	decidedReadOnly atomic.Int64 // operations answered from the applied state, without an entry
	decidedInShare  atomic.Int64 // operations answered from the leader's share
	uncertain       atomic.Int64 // calls answered with Uncertain
	noLeader        atomic.Int64 // calls answered with NoLeader
	leaderChanges   atomic.Int64 // how often this node became leader
	voided          atomic.Int64 // tokens of processes that have ended, while this node led
	latency         histogram    // from proposing an entry to having applied it
}

func newMetrics() *metrics { return &metrics{} }

// countFailure counts the error of a call's answer; OK is none.
func (c *metrics) countFailure(status engine.Status) {
	switch status {
	case engine.Uncertain:
		c.uncertain.Add(1)
	case engine.NoLeader:
		c.noLeader.Add(1)
	}
}

// latencyBounds are the upper bounds of the buckets of latencies.
var latencyBounds = [...]time.Duration{
	250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond, 8 * time.Millisecond,
	16 * time.Millisecond, 32 * time.Millisecond, 64 * time.Millisecond, 125 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second,
}

type histogram struct {
	buckets [len(latencyBounds) + 1]atomic.Int64
	sum     atomic.Int64
}

func (l *histogram) observe(d time.Duration) {
	at := 0
	for at < len(latencyBounds) && d > latencyBounds[at] {
		at++
	}
	l.buckets[at].Add(1)
	l.sum.Add(int64(d))
}

func (l *histogram) read() clusterstatus.Latency {
	r := clusterstatus.Latency{Bounds: latencyBounds[:], Sum: time.Duration(l.sum.Load())}
	for i := range l.buckets {
		r.Counts = append(r.Counts, l.buckets[i].Load())
	}
	return r
}
