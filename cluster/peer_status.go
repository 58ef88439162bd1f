package cluster

import (
	"slices"

	"github.com/hashicorp/raft"
)

// idAt returns the id of the member at an address, by this node's log.
func (n *Node) idAt(address string) raft.ServerID {
	for _, s := range n.servers() {
		if string(s.Address) == address {
			return s.ID
		}
	}
	return ""
}

// addresses returns those of all other known nodes.
func (n *Node) addresses() (all []string) {
	all = append(all, n.opt.Peers...)
	for _, s := range n.servers() {
		all = append(all, string(s.Address))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(a string) bool { return a == n.opt.Advertise })
}

// storePeerStatus stores the status of another node.
func (n *Node) storePeerStatus(r peerStatus) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.peerStatuses) < maxPeerStatuses || n.peerStatuses[r.ID].ID != "" {
		n.peerStatuses[r.ID] = r
	}
}

const maxPeerStatuses = 1024

func (n *Node) lastStatusOf(id raft.ServerID) (peerStatus, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, heard := n.peerStatuses[id]
	return r, heard
}

// isAlive reports whether a node's status is recent and its Raft runs: only then is it reachable.
func (n *Node) isAlive(r peerStatus) bool { return !r.Gone && n.isFresh(r) }

// isFresh reports whether a status is recent enough to rely on.
func (n *Node) isFresh(r peerStatus) bool { return n.clock.mono()-r.at < statusRounds*n.opt.MeetEvery }

// statusRounds is the number of rounds of status requests for which a status is valid.
const statusRounds = 3

// leaderAddress returns the presumed leader's address, "" if it is unknown. It is never this node's own.
func (n *Node) leaderAddress() string {
	address := n.findLeader()
	if address != "" {
		n.noteLeader(address)
	}
	return address
}

// noteLeader remembers the last known leader.
func (n *Node) noteLeader(address string) {
	if last := n.lastLeader.Load(); last == nil || *last != address {
		n.lastLeader.Store(&address)
	}
}

func (n *Node) findLeader() string {
	address, _ := n.raft.LeaderWithID()
	if address != "" && string(address) != n.opt.Advertise && !n.peers.IsIsolated() {
		return string(address)
	}
	if string(address) == n.opt.Advertise && !n.peers.IsIsolated() {
		return ""
	}
	return n.claimedLeader()
}

// claimedLeader returns the address of the node that reports to lead, in the highest term.
func (n *Node) claimedLeader() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var best peerStatus
	own := n.clusterID()
	for _, r := range n.peerStatuses {
		if r.Leads && r.Term >= best.Term && n.isAlive(r) && (own == "" || r.ClusterID == own) {
			best = r
		}
	}
	return best.address
}
