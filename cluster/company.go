package cluster

import (
	"slices"

	"github.com/hashicorp/raft"
)

// idAt is who, by this node's log, is at an address.
func (n *Node) idAt(address string) raft.ServerID {
	for _, s := range n.servers() {
		if string(s.Address) == address {
			return s.ID
		}
	}
	return ""
}

// addresses are those of all other nodes this node knows of.
func (n *Node) addresses() (all []string) {
	all = append(all, n.opt.Peers...)
	for _, s := range n.servers() {
		all = append(all, string(s.Address))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(a string) bool { return a == n.opt.Advertise })
}

// heard notes what another node told of itself.
func (n *Node) heard(r report) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.reports) < maxReports || n.reports[r.ID].ID != "" {
		n.reports[r.ID] = r
	}
}

const maxReports = 1024

func (n *Node) lastReport(id raft.ServerID) (report, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, heard := n.reports[id]
	return r, heard
}

// isFresh reports whether a report is recent enough for its node to count as reachable.
func (n *Node) isFresh(r report) bool { return n.clock.mono()-r.at < 3*n.opt.MeetEvery }

// leaderAddress is where the leader is thought to be, "" if that is not known. It is never this node itself.
func (n *Node) leaderAddress() string {
	address := n.findLeader()
	if address != "" {
		n.noteLeader(address)
	}
	return address
}

// noteLeader remembers the last leader there was.
func (n *Node) noteLeader(address string) {
	if last := n.lastLeader.Load(); last == nil || *last != address {
		n.lastLeader.Store(&address)
	}
}

func (n *Node) findLeader() string {
	address, _ := n.raft.LeaderWithID()
	if address != "" && string(address) != n.opt.Advertise && !n.peers.muted.Load() {
		return string(address)
	}
	if string(address) == n.opt.Advertise && !n.peers.muted.Load() {
		return ""
	}
	return n.claimedLeader()
}

// claimedLeader is who said last, in the highest term, that it leads.
func (n *Node) claimedLeader() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var best report
	own := n.clusterID()
	for _, r := range n.reports {
		if r.Leads && r.Term >= best.Term && n.isFresh(r) && (own == "" || r.ClusterID == own) {
			best = r
		}
	}
	return best.address
}
