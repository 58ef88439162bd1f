package group

import (
	"sync/atomic"

	"github.com/stintdb/stint/engine"
)

// metrics are a node's counters since its start.
type metrics struct {
	uncertain     atomic.Int64 // calls answered with Uncertain
	noLeader      atomic.Int64 // calls answered with NoLeader
	leaderChanges atomic.Int64 // how often this node became leader
}

// countFailure counts the error of a call's answer; OK is none.
func (c *metrics) countFailure(status engine.Status) {
	switch status {
	case engine.Uncertain:
		c.uncertain.Add(1)
	case engine.NoLeader:
		c.noLeader.Add(1)
	}
}
