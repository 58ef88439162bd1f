package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// State is the part a node plays at the moment.
type State string

// The states.
const (
	Starting  State = "starting"  // it belongs to no cluster yet
	Follower  State = "follower"  // it follows a leader
	Candidate State = "candidate" // it has no leader and asks to become it
	Leader    State = "leader"    // it decides
	Gone      State = "gone"      // it was removed, or has ended
)

// Status is the cluster as one node sees it. Counters are the node's own, since it was started.
type Status struct {
	ClusterID    string
	Node         string
	State        State
	Term         uint64
	LeaderNode   string
	LastLeader   string // the leader's node, or that of the last one this node knew
	LeaderAddr   string
	LeaderClient string
	LastContact  time.Duration // since the leader was heard of; 0 on the leader

	LastLogIndex, CommitIndex, AppliedIndex, LastSnapshotIndex uint64

	LogBytes    int64 // written to the log since the last snapshot
	DiskStalled bool
	Time        int64 // of the last entry applied, nanoseconds since the Unix epoch

	Proposed      int64 // entries
	Decisions     int64 // operations applied from the log
	Settled       int64 // operations answered from applied state
	Forwarded     int64 // calls
	Uncertain     int64
	NoLeader      int64
	Overloaded    int64
	LeaderChanges int64

	LatencyBounds []time.Duration // of entries, from proposed to applied
	LatencyCounts []int64         // one more than bounds
	LatencySum    time.Duration

	Members []MemberStatus
}

// MemberStatus is one node of the cluster.
type MemberStatus struct {
	Node, Addr, Client string
	Voter, Leader      bool
	Reachable          bool
	AppliedIndex       uint64
	LastContact        time.Duration
}

// Status is how the cluster is doing as this node knows it.
func (n *Node) Status() Status {
	known := n.fsm.known.Load()
	s := Status{
		ClusterID: known.ClusterID, Node: n.opt.Node, State: n.state(), Term: n.raft.CurrentTerm(),
		LastLogIndex: n.raft.LastIndex(), CommitIndex: n.raft.CommitIndex(), AppliedIndex: n.raft.AppliedIndex(),
		LogBytes: n.logs.bytes.Load(), DiskStalled: n.logs.stalled() > n.opt.DiskTimeout, Time: n.fsm.now.Load(),
		Proposed: n.counts.proposed.Load(), Decisions: n.counts.decisions.Load(), Settled: n.counts.settled.Load(), Forwarded: n.counts.forwarded.Load(),
		Uncertain: n.counts.uncertain.Load(), NoLeader: n.counts.noLeader.Load(), Overloaded: n.counts.overloaded.Load(), LeaderChanges: n.counts.leaderChanges.Load(),
		LastSnapshotIndex: n.lastSnapshot.Load(),
		LatencyBounds:     latencyBounds[:], LatencySum: time.Duration(n.counts.latency.sum.Load()),
	}
	for i := range n.counts.latency.counts {
		s.LatencyCounts = append(s.LatencyCounts, n.counts.latency.counts[i].Load())
	}
	leader := n.leaderAddress()
	if s.State == Leader {
		leader = n.opt.Advertise
	} else if leader != "" {
		s.LastContact = time.Since(n.raft.LastContact())
	}
	last := leader
	if known := n.lastLeader.Load(); last == "" && known != nil {
		last = *known
	}
	for _, server := range n.servers() {
		m := n.memberStatus(server, known)
		if m.Addr == last {
			s.LastLeader = m.Node
		}
		if m.Addr == leader {
			m.Leader = true
			s.LeaderNode, s.LeaderAddr, s.LeaderClient = m.Node, m.Addr, m.Client
		}
		s.Members = append(s.Members, m)
	}
	return s
}

func (n *Node) memberStatus(server raft.Server, known *register) MemberStatus {
	m := MemberStatus{Node: nodeName(server.ID), Addr: string(server.Address), Client: known.Members[server.ID].Client, Voter: server.Suffrage == raft.Voter}
	if server.ID == n.id {
		m.Reachable, m.AppliedIndex = true, n.raft.AppliedIndex()
	} else if r, heard := n.lastReport(server.ID); heard {
		m.LastContact, m.AppliedIndex, m.Reachable = n.clock.mono()-r.at, r.Applied, n.isFresh(r)
	}
	return m
}

func (n *Node) state() State {
	switch {
	case n.reign.Load() != nil:
		return Leader
	case n.raft.State() == raft.Shutdown:
		return Gone
	case n.clusterID() == "":
		return Starting
	case n.raft.State() == raft.Follower && n.leaderAddress() != "":
		return Follower
	}
	return Candidate
}

// Leads reports whether this node decides, and where clients reach the one that does, "" if that is not known. It is cheap
// enough for every command.
func (n *Node) Leads() (leads bool, client string) {
	if n.reign.Load() != nil {
		return true, n.opt.Client
	}
	address := n.leaderAddress()
	if address == "" {
		return false, ""
	}
	return false, n.fsm.known.Load().Members[n.idAt(address)].Client
}

// Add makes the node at an address a member, with a vote or without one.
func (n *Node) Add(ctx context.Context, node, address string, voter bool) error {
	return n.askLeader(ctx, request{Admin: &adminOrder{Do: "add", Node: node, Address: address, Spare: !voter}})
}

// Remove ends a membership. It refuses to leave the cluster without a majority that answers.
func (n *Node) Remove(ctx context.Context, node string) error {
	return n.askLeader(ctx, request{Admin: &adminOrder{Do: "remove", Node: node}})
}

// Transfer hands leadership to a member, or with "" to the one that is best off.
func (n *Node) Transfer(ctx context.Context, node string) error {
	return n.askLeader(ctx, request{Admin: &adminOrder{Do: "transfer", Node: node}})
}

// Snapshot has this node write a snapshot and cut its log.
func (n *Node) Snapshot(ctx context.Context) error { return n.await(ctx, n.snapshot) }

// Barrier returns once this node has applied everything that was acknowledged anywhere before the call.
func (n *Node) Barrier(ctx context.Context) error {
	_, err := n.barrier(ctx)
	return err
}

// barrier returns the index of the log up to which everything was applied.
func (n *Node) barrier(ctx context.Context) (index uint64, err error) {
	for {
		if index, err = n.acknowledged(ctx); err == nil {
			break
		}
		if ctx.Err() != nil {
			return 0, err
		}
		sleep(ctx, n.renewalEvery())
	}
	for n.raft.AppliedIndex() < index {
		if ctx.Err() != nil {
			return 0, errors.New("this node has not caught up in time")
		}
		sleep(ctx, time.Millisecond)
	}
	return index, nil
}

// acknowledged is an index of the log that nothing acknowledged so far is behind.
func (n *Node) acknowledged(ctx context.Context) (uint64, error) {
	own := n.report()
	if own.Leased {
		return own.Applied, nil
	}
	if own.Leader == "" || own.Leads {
		return 0, errNoLeader
	}
	r, err := n.askReport(ctx, own.Leader)
	if err == nil && !r.Leased {
		err = errNoLeader
	}
	return r.Applied, err
}

// WaitFor returns how many other nodes have on disk everything acknowledged before the call, once there are replicas of
// them, or at the end of ctx.
func (n *Node) WaitFor(ctx context.Context, replicas int) (acknowledged int) {
	index, err := n.barrier(ctx)
	if err != nil {
		return 0
	}
	replicas = min(replicas, len(n.servers())-1)
	for {
		acknowledged = 0
		for _, r := range n.askAll(ctx, time.Second) {
			if r.Last >= index && r.ClusterID == n.clusterID() {
				acknowledged++
			}
		}
		if acknowledged >= replicas || ctx.Err() != nil {
			return acknowledged
		}
		sleep(ctx, 10*time.Millisecond)
	}
}
