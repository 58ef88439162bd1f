package group

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/transport"
)

// A node is healthy when it leads and its entries are committed in time, or when it follows a leader and has recently
// caught up with it. It asks the leader for the applied index, because Raft sends a follower the leader's commit
// index only with entries, which may not arrive.

// health knows whether this node serves its clients.
type health struct {
	opt      *Config
	raft     *raftnode.Node
	peers    *transport.Peers
	clock    *clock.Clock
	fsm      *fsm.Machine
	logs     *raftnode.WatchedLog
	saved    *savedState
	statuses Statuses
	leader   *leaderFinder
	role     *leaderRole
	proposer *propose.Proposer

	// caughtUp is when the leader had applied no more than this node had soon afterwards, on the monotonic clock, or
	// never.
	caughtUp atomic.Int64
}

// look compares this node's applied index with the leader's: at once after a start or a change of leader, and then in
// every round of status requests.
func (h *health) look(ctx context.Context) (pause time.Duration) {
	h.compareToLeader(ctx)
	if !h.hasCaughtUp() && h.role.current.Load() == nil {
		return clock.UntilNext(h.opt.Heartbeat / 6)
	}
	return clock.UntilNext(h.opt.MeetEvery)
}

// compareToLeader asks the leader for its applied index, and notes that this node has caught up if it reaches that
// index soon.
func (h *health) compareToLeader(ctx context.Context) {
	address := h.leader.address()
	if address == "" || h.role.current.Load() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, h.opt.MeetEvery)
	defer cancel()
	asked := h.clock.Mono()
	leader, err := h.statuses.Fetch(ctx, address)
	if err != nil || !leader.Leads || leader.Term < h.raft.CurrentTerm() || leader.ClusterID != h.saved.clusterID() {
		return
	}
	wait := h.opt.Heartbeat // after which it asks again, because the leader's index has moved
	if h.hasCaughtUp() {
		wait = h.opt.MeetEvery // a follower with a slow disk is always a little behind
	}
	waiting, stop := context.WithTimeout(ctx, asked+wait-h.clock.Mono())
	defer stop()
	if h.fsm.AwaitApplied(waiting, leader.Applied) {
		h.caughtUp.Store(int64(asked))
	}
}

// hasCaughtUp reports whether this node had caught up with the leader within the last rounds of status requests.
func (h *health) hasCaughtUp() bool {
	at := h.caughtUp.Load()
	return at != never && h.clock.Mono()-time.Duration(at) < StatusRounds*h.opt.MeetEvery
}

// never is a time before any on the monotonic clock.
const never = -1

// isHealthy reports whether this node leads and its entries are committed, or follows a leader and has caught up.
func (h *health) isHealthy() bool {
	switch {
	case h.raft.State() == raft.Shutdown, h.peers.IsIsolated(), h.logs.Stalled() > h.opt.DiskTimeout:
		return false
	case h.role.current.Load() != nil:
		return h.proposer.OldestAge() <= h.opt.DecideTimeout
	}
	_, isListed := h.raft.Own() // a removed node may have all of the log
	return isListed && h.leader.address() != "" && h.hasCaughtUp()
}
