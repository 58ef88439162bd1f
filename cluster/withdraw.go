package cluster

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// A leader can be too slow to serve the others and still reach all of them: its disk takes a second for each write,
// or its network drops large packets and lets heartbeats pass. Raft then elects no other node. So a leader whose
// entries are late, one after the other, withdraws: it isolates itself from the others until one of them leads.
// Raft's own transfer of leadership needs the disk and the path that are slow.

// watchEntries makes this node withdraw when its entries have been late for two decide timeouts: in that time nearly
// all its calls have failed. A single slow write is left to watchDisk.
func (n *Node) watchEntries(ctx context.Context) {
	every(ctx, n.proposer.lateAfter/5, func() {
		since, inRow := n.proposer.lateEntries()
		isOneWrite := inRow == 1 && n.logs.stalled() > n.proposer.lateAfter
		if inRow == 0 || isOneWrite || time.Since(since) < 2*n.opt.DecideTimeout || n.leadership.Load() == nil || !n.othersCanLead() {
			return
		}
		n.statuses.fetchAll(ctx, n.opt.Heartbeat) // their disks may have become slow since they were last asked
		if !n.othersCanLead() {
			return
		}
		n.log.Error("this leader's entries are committed too late, and another node can lead: it gives up leadership",
			"late", time.Since(since).Round(time.Millisecond), "in_a_row", inRow, "decide_timeout", n.opt.DecideTimeout)
		n.withdraw()
	})
}

// othersCanLead reports whether the other voters that answer and have fast disks are a majority. They can elect
// another leader without this node, and that one would be faster.
func (n *Node) othersCanLead() bool {
	voters, fit := 0, 0
	for _, s := range n.raft.servers() {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		r, known := n.statuses.last(s.ID)
		if _, heard := n.raft.progressOf(s); s.ID != n.id && heard && known && n.statuses.isAlive(r) && !r.Slow {
			fit++
		}
	}
	return fit > voters/2
}

// withdraw gives up leadership and cuts this node off from the others, so that they elect another leader.
func (n *Node) withdraw() {
	n.stepDown()
	n.withdrew.Store(int64(n.clock.mono()))
	n.peers.Isolate(true)
}

// endWithdrawal ends the isolation when another node leads, or no node can be elected without this one.
func (n *Node) endWithdrawal(ctx context.Context) {
	if n.raft.State() == raft.Leader || n.logs.stalled() > 0 {
		return
	}
	n.statuses.fetchAll(ctx, n.opt.Heartbeat)
	if n.leader.claimed() != "" || n.clock.mono()-time.Duration(n.withdrew.Load()) > maxWithdrawn*n.opt.Heartbeat {
		n.log.Info("this node follows again")
		n.peers.Isolate(false)
	}
}

// maxWithdrawn is the number of heartbeat timeouts that a withdrawn node waits for another leader.
const maxWithdrawn = 10

// isSlow reports whether this node withdrew, or a write of its log was late, within slowFor. Leadership is not
// transferred to a slow node, and a leader that considers withdrawing does not count other slow nodes: so leadership
// does not go in circles.
func (n *Node) isSlow() bool {
	now := n.clock.mono()
	isRecent := func(at int64) bool { return at != never && now-time.Duration(at) < slowFor }
	return isRecent(n.withdrew.Load()) || isRecent(n.logs.slow.Load()) || n.logs.stalled() > n.proposer.lateAfter
}

const slowFor = 30 * time.Second
