package cluster

import (
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
)

// counts are what a node has done since it was started.
type counts struct {
	entries       atomic.Int64 // applied
	proposed      atomic.Int64 // by this node
	decisions     atomic.Int64 // operations applied
	settled       atomic.Int64 // operations answered from applied state, without an entry
	forwarded     atomic.Int64 // calls sent to the leader
	uncertain     atomic.Int64 // calls told that their outcome is unknown
	noLeader      atomic.Int64 // calls told that nobody could decide them
	overloaded    atomic.Int64 // calls refused for want of room
	leaderChanges atomic.Int64 // reigns of this node
	latency       latencies    // from proposing an entry to having applied it
}

func newCounts() *counts { return &counts{} }

// failed counts the error that a call was answered with; OK is none.
func (c *counts) failed(status engine.Status) {
	switch status {
	case engine.Uncertain:
		c.uncertain.Add(1)
	case engine.NoLeader:
		c.noLeader.Add(1)
	case engine.Overloaded:
		c.overloaded.Add(1)
	}
}

// latencyBounds are the upper bounds of the buckets of latencies.
var latencyBounds = [...]time.Duration{
	250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond, 8 * time.Millisecond,
	16 * time.Millisecond, 32 * time.Millisecond, 64 * time.Millisecond, 125 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second,
}

type latencies struct {
	counts [len(latencyBounds) + 1]atomic.Int64
	sum    atomic.Int64
}

func (l *latencies) observe(d time.Duration) {
	at := 0
	for at < len(latencyBounds) && d > latencyBounds[at] {
		at++
	}
	l.counts[at].Add(1)
	l.sum.Add(int64(d))
}
