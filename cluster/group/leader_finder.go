package group

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/transport"
)

// leaderFinder finds the leader, by this node's Raft and by the statuses of other nodes.
type leaderFinder struct {
	opt      *Config
	raft     *raftnode.Node
	peers    *transport.Peers
	statuses Statuses
	saved    *savedState

	changed notifier.Notifier      // broadcasts when the leader changes, or is lost
	last    atomic.Pointer[string] // where the last known leader was
}

// address returns the presumed leader's address, "" if it is unknown. It is never this node's own.
func (f *leaderFinder) address() string {
	address := f.find()
	if address != "" {
		f.note(address)
	}
	return address
}

// elected returns the address of the leader that this node's Raft follows, "" if there is none. Clients may be sent
// there: no node leads in an earlier term than the one in which this node heard of the leader, so redirects never go in
// circles. A node that only claims to lead may have ceased to.
func (f *leaderFinder) elected() string {
	address, _ := f.raft.LeaderWithID()
	if string(address) == f.opt.Advertise || f.peers.IsIsolated() {
		return ""
	}
	return string(address)
}

// hears reports whether this node follows a leader, and has heard from it within the heartbeat timeout.
func (f *leaderFinder) hears() bool {
	leader, _ := f.raft.LeaderWithID() // none after a vote, which Raft counts as a contact too
	now, contact := time.Now(), f.raft.LastContact()
	silent := max(now.Sub(contact), now.Round(0).Sub(contact.Round(0))) // by the time of day too: see [clock.Moment]
	return leader != "" && f.raft.State() == raft.Follower && silent < f.opt.Heartbeat
}

// note remembers the last known leader.
func (f *leaderFinder) note(address string) {
	if last := f.last.Load(); last == nil || *last != address {
		f.last.Store(&address)
	}
}

func (f *leaderFinder) find() string {
	if address := f.elected(); address != "" {
		return address
	}
	if address, _ := f.raft.LeaderWithID(); string(address) == f.opt.Advertise && !f.peers.IsIsolated() {
		return ""
	}
	return f.claimed()
}

// claimed returns the address of the node that reports to lead in the highest term.
func (f *leaderFinder) claimed() string { return f.statuses.ClaimedLeader(f.saved.clusterID()) }

// observe is called by Raft as a filter of its observations, at once. It delivers none of them.
func (f *leaderFinder) observe(o *raft.Observation) bool {
	switch o.Data.(type) {
	case raft.LeaderObservation, raft.RaftState:
		f.changed.Broadcast()
	}
	return false
}
