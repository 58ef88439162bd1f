package group

import (
	"sync/atomic"

	"github.com/stintdb/stint/engine"
)

// metrics are a node's counters since its start.
type metrics struct {
	decidedReadOnly    atomic.Int64 // operations answered from the applied state, without an entry
	decidedByAllowance atomic.Int64 // operations answered from the leader's allowance
	uncertain          atomic.Int64 // calls answered with Uncertain
	noLeader           atomic.Int64 // calls answered with NoLeader
	leaderChanges      atomic.Int64 // how often this node became leader
	voided             atomic.Int64 // tokens of processes that have ended, while this node led
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
