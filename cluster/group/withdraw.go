package group

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/transport"
)

// A leader can be too slow to serve the others and still reach all of them: its disk takes a second for each write, or
// its network drops large packets and lets heartbeats pass. Raft then elects no other node. So a leader whose entries
// are late, one after the other, withdraws: it isolates itself from the others until one of them leads. Raft's own
// transfer of leadership would need the disk and the path that are slow.

// withdrawal takes leadership from this node while it is too slow.
type withdrawal struct {
	opt      *Config
	raft     *raftnode.Node
	peers    *transport.Peers
	clock    *clock.Clock
	logs     *raftnode.WatchedLog
	statuses Statuses
	leader   *leaderFinder
	role     *leaderRole
	proposer *propose.Proposer
	log      *oncelog.Log

	began    atomic.Int64 // when this node last withdrew from leadership, on the monotonic clock, or never
	isolates atomic.Bool  // this group isolates the node; other groups of the node may do so too
}

// watchDisk isolates this node while its disk does not answer, so that the others elect another leader, and ends the
// isolation when the disk answers again.
func (w *withdrawal) watchDisk(ctx context.Context) (pause time.Duration) {
	switch stalled := w.logs.Stalled(); {
	case w.isolates.Load():
		w.end(ctx)
	case w.raft.State() != raft.Leader:
		return clock.Never
	case (stalled > w.opt.DiskTimeout || w.raft.DiskFails()) && w.raft.HasOthers():
		w.log.Error("a write to the log failed, or took longer than --cluster-disk-timeout: this node gives up leadership until the disk answers",
			"waited", stalled.Round(time.Millisecond), "disk_timeout", w.opt.DiskTimeout)
		w.withdraw()
	}
	return clock.UntilNext(w.opt.DiskTimeout / 10)
}

// watchEntries makes this node withdraw when its entries have been late for two decide timeouts: in that time nearly
// all its calls have failed. A single slow write is left to watchDisk.
func (w *withdrawal) watchEntries(ctx context.Context) (pause time.Duration) {
	if w.role.current.Load() == nil {
		return clock.Never
	}
	pause = clock.UntilNext(w.proposer.LateAfter / 5)
	since, inRow := w.proposer.LateEntries()
	isOneWrite := inRow == 1 && w.logs.Stalled() > w.proposer.LateAfter
	if inRow == 0 || isOneWrite || time.Since(since) < 2*w.opt.DecideTimeout || !w.othersCanLead() {
		return pause
	}
	w.statuses.FetchAll(ctx, w.opt.Heartbeat) // their disks may have become slow since they were last asked
	if !w.othersCanLead() {
		return pause
	}
	w.log.Error("this leader commits entries too late, and another node can lead: it gives up leadership",
		"late", time.Since(since).Round(time.Millisecond), "in_a_row", inRow, "decide_timeout", w.opt.DecideTimeout)
	w.withdraw()
	return pause
}

// othersCanLead reports whether the other voters that answer and have fast disks are a majority. They can elect another
// leader without this node, and that leader would be faster.
func (w *withdrawal) othersCanLead() bool {
	voters, fit := 0, 0
	for _, s := range w.raft.Servers() {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		r, known := w.statuses.Last(s.ID)
		if _, heard := w.raft.ProgressOf(s); s.ID != w.raft.ID && heard && known && w.statuses.IsAlive(r) && !r.Slow {
			fit++
		}
	}
	return fit > voters/2
}

// withdraw gives up leadership and cuts this node off from the others, so that they elect another leader.
func (w *withdrawal) withdraw() {
	w.role.stepDown()
	w.began.Store(int64(w.clock.Mono()))
	if !w.isolates.Swap(true) {
		w.peers.Isolate(true)
	}
}

// end ends the isolation when another node leads, or when no node can be elected without this one.
func (w *withdrawal) end(ctx context.Context) {
	if w.raft.State() == raft.Leader || w.logs.Stalled() > 0 {
		return
	}
	w.statuses.FetchAll(ctx, w.opt.Heartbeat)
	if w.leader.claimed() != "" || w.clock.Mono()-time.Duration(w.began.Load()) > maxWithdrawn*w.opt.Heartbeat {
		w.log.Info("this node follows again")
		w.isolates.Store(false)
		w.peers.Isolate(false)
	}
}

// maxWithdrawn is the number of heartbeat timeouts that a withdrawn node waits for another leader.
const maxWithdrawn = 10

// isSlow reports whether this node withdrew, or a write of its log was late, within slowFor. Leadership is not
// transferred to a slow node, and a leader that considers withdrawing does not count other slow nodes. So leadership
// does not go in circles.
func (w *withdrawal) isSlow() bool {
	began := w.began.Load()
	return began != never && w.clock.Mono()-time.Duration(began) < slowFor || w.logs.IsSlow(slowFor)
}

const slowFor = 30 * time.Second
