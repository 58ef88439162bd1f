package cluster

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/notifier"
)

// A node is healthy when it leads and its entries are committed in time, or when it follows a leader and has recently
// caught up with it. It asks the leader for the applied index, because Raft sends a follower the leader's commit
// index only with entries, which may not arrive.

// watchProgress compares this node's applied index with the leader's: at once after a start or a change of leader,
// and then with every round of status requests.
func (n *Node) watchProgress(ctx context.Context) {
	for ctx.Err() == nil {
		moved := n.leader.changed.Wait()
		n.compareToLeader(ctx)
		wait := n.opt.MeetEvery
		if !n.hasCaughtUp() {
			wait = n.opt.Heartbeat / 6
		}
		notifier.Pause(ctx, moved, wait)
	}
}

// compareToLeader asks the leader for its applied index, and notes that this node has caught up if it reaches that
// index soon.
func (n *Node) compareToLeader(ctx context.Context) {
	address := n.leader.address()
	if address == "" || n.leadership.Load() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, n.opt.MeetEvery)
	defer cancel()
	asked := n.clock.mono()
	leader, err := n.statuses.fetch(ctx, address)
	if err != nil || !leader.Leads || leader.Term < n.raft.CurrentTerm() || leader.ClusterID != n.saved.clusterID() {
		return
	}
	wait := n.opt.Heartbeat // then it asks again: the leader's index has moved
	if n.hasCaughtUp() {
		wait = n.opt.MeetEvery // a follower with a slow disk is always a little behind
	}
	waiting, stop := context.WithTimeout(ctx, asked+wait-n.clock.mono())
	defer stop()
	if n.fsm.awaitApplied(waiting, leader.Applied) {
		n.caughtUp.Store(int64(asked))
	}
}

// hasCaughtUp reports whether this node had caught up with the leader within the last rounds of status requests.
func (n *Node) hasCaughtUp() bool {
	at := n.caughtUp.Load()
	return at != never && n.clock.mono()-time.Duration(at) < statusRounds*n.opt.MeetEvery
}

// never is a time before any on the monotonic clock.
const never = -1

// isHealthy reports whether this node leads and its entries are committed, or follows a leader and has caught up.
func (n *Node) isHealthy() bool {
	switch {
	case n.raft.State() == raft.Shutdown, n.peers.IsIsolated(), n.logs.stalled() > n.opt.DiskTimeout:
		return false
	case n.leadership.Load() != nil:
		return n.proposer.oldestAge() <= n.opt.DecideTimeout
	}
	return n.leader.address() != "" && n.hasCaughtUp()
}
