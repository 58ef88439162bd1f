package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/persistence"
)

// Status returns the cluster's status as this node sees it.
func (n *Node) Status() clusterstatus.Status {
	known := n.fsm.Cluster.Load()
	m := n.metrics
	s := clusterstatus.Status{
		ClusterID: known.ClusterID, NodeID: n.opt.Node, State: n.state(), Healthy: n.health.isHealthy(), Term: n.raft.CurrentTerm(),
		LastLogIndex: n.raft.LastIndex(), CommitIndex: n.raft.CommitIndex(), AppliedIndex: n.fsm.Applied.Load(),
		LogBytes: n.logs.bytes.Load(), DiskStalled: n.logs.stalled() > n.opt.DiskTimeout, Time: n.fsm.Now.Load(), ClockAhead: n.clock.Ahead(),
		Entries: n.proposer.Proposed.Load(), Decisions: n.fsm.Decisions.Load(), DecidedReadOnly: m.decidedReadOnly.Load(), DecidedInShare: m.decidedInShare.Load(), Forwarded: n.forwarder.Forwarded.Load(),
		UncertainOutcomes: m.uncertain.Load(), NoLeaderOutcomes: m.noLeader.Load(), LeaderChanges: m.leaderChanges.Load(),
		LocalDecisions: n.holder.table.Decisions.Load(), LentTokens: n.holder.table.Held(), HeldKeys: n.holder.table.Keys(), Lends: n.holder.table.Lends.Load(), VoidedTokens: m.voided.Load(),
		CommitLatency: n.proposer.Latency.Read(), FormatVersion: uint32(known.Version()),
	}
	if snapshots, err := n.disk.Snapshots().List(); err == nil && len(snapshots) > 0 {
		s.LastSnapshotIndex, s.LastSnapshot = snapshots[0].Index, raftstore.SnapshotTime(snapshots[0].ID)
	}
	leader := n.leader.address()
	if s.State == clusterstatus.Leader {
		leader = n.opt.Advertise
	} else if leader != "" {
		s.LastContact = time.Since(n.raft.LastContact())
	}
	last := leader
	if known := n.leader.last.Load(); last == "" && known != nil {
		last = *known
	}
	for _, server := range n.raft.servers() {
		m := n.memberStatus(server, known)
		if m.Addr == last {
			s.LastLeaderID = m.ID
		}
		if m.Addr == leader {
			m.Leader = true
			s.LeaderID, s.LeaderAddr, s.LeaderClientAddr = m.ID, m.Addr, m.ClientAddr
		}
		s.Members = append(s.Members, m)
	}
	return s
}

func (n *Node) memberStatus(server raft.Server, known *fsm.Cluster) clusterstatus.Member {
	m := clusterstatus.Member{ID: nodeName(server.ID), Addr: string(server.Address), ClientAddr: known.Members[server.ID].Client, Voter: server.Suffrage == raft.Voter,
		FormatVersion: uint32(known.Members[server.ID].Formats.OrFirst())}
	if server.ID == n.id {
		m.Reachable, m.Healthy, m.AppliedIndex = n.raft.State() != raft.Shutdown, n.health.isHealthy(), n.fsm.Applied.Load()
		m.FormatVersion, m.Report = uint32(n.formats.Newest), n.ownReport()
	} else if r, heard := n.statuses.Last(server.ID); heard {
		m.LastContact, m.AppliedIndex, m.Reachable = time.Since(r.At), r.Applied, n.statuses.IsAlive(r)
		m.Healthy = m.Reachable && !r.Unhealthy
		m.FormatVersion = uint32(r.Formats.OrFirst())
		if m.Reachable {
			m.Report = r.Report
		}
	}
	return m
}

func (n *Node) state() clusterstatus.State {
	switch {
	case n.role.current.Load() != nil:
		return clusterstatus.Leader
	case n.raft.State() == raft.Shutdown:
		return clusterstatus.Gone
	case n.saved.clusterID() == "":
		return clusterstatus.Starting
	case n.raft.State() == raft.Follower && n.leader.address() != "":
		return clusterstatus.Follower
	}
	return clusterstatus.Candidate
}

// Leads reports whether this node decides, and where clients reach the leader, "" while none is elected. It is cheap enough
// for every command.
func (n *Node) Leads() (leads bool, client string) {
	if n.role.current.Load() != nil {
		return true, n.opt.Client
	}
	address := n.leader.elected()
	if address == "" {
		return false, ""
	}
	return false, n.fsm.Cluster.Load().Members[n.raft.idAt(address)].Client
}

// Decide has a batch decided by the cluster. It either fills in the results and returns true, or returns false at once and
// calls b.Done later, within [Options.DecideTimeout]; it never waits. The operations' keys are only read until it returns.
func (n *Node) Decide(b *engine.Batch) (finished bool) { return n.decider.decide(b) }

// Add makes the node at an address a member, with a vote or without one.
func (n *Node) Add(ctx context.Context, node, address string, voter bool) error {
	return n.callLeader(ctx, Request{Admin: &AdminRequest{Do: "add", Node: node, Address: address, Nonvoter: !voter}})
}

// Remove ends a membership. It refuses to leave the cluster without a majority that answers.
func (n *Node) Remove(ctx context.Context, node string) error {
	return n.callLeader(ctx, Request{Admin: &AdminRequest{Do: "remove", Node: node}})
}

// Transfer transfers leadership to a member, or with "" to the most suitable one.
func (n *Node) Transfer(ctx context.Context, node string) error {
	return n.callLeader(ctx, Request{Admin: &AdminRequest{Do: "transfer", Node: node}})
}

// HandOver transfers leadership to another node, if this one leads and another can. Calls that arrive during the
// transfer are decided by the new leader. After HandOver this node may be closed, and no call is lost.
//
// Before that, it gives back the tokens that this process holds.
func (n *Node) HandOver(ctx context.Context) error {
	n.holder.returnAll(ctx)
	return n.transfers.handOver(ctx)
}

// SetAhead changes how far ahead this process holds tokens of keys in demand. With 0 it gives all back.
func (n *Node) SetAhead(d time.Duration) { n.holder.table.SetAhead(d) }

// TooNew returns the error for operations that were answered with [engine.TooNew]. It names the newest operation and a
// member that does not know it.
func (n *Node) TooNew(ops []engine.Op) error { return n.formats.tooNew(ops) }

// Snapshot has this node write a snapshot and cut its log.
func (n *Node) Snapshot(ctx context.Context) error {
	return n.raft.await(ctx, n.compactor.takeSnapshot)
}

// Barrier returns once this node has applied everything that was acknowledged anywhere before the call.
func (n *Node) Barrier(ctx context.Context) error {
	_, err := n.awaitReadIndex(ctx)
	return err
}

// awaitReadIndex waits until this node has applied everything acknowledged before the call, and returns the index.
func (n *Node) awaitReadIndex(ctx context.Context) (index uint64, err error) {
	for {
		if index, err = n.readIndex(ctx); err == nil {
			break
		}
		if ctx.Err() != nil {
			return 0, err
		}
		clock.Sleep(ctx, n.role.leaseRenewal())
	}
	if !n.fsm.AwaitApplied(ctx, index) {
		return 0, errors.New("this node has not caught up with the leader in time")
	}
	return index, nil
}

// readIndex returns an index of the log that covers everything acknowledged so far.
func (n *Node) readIndex(ctx context.Context) (uint64, error) {
	own := n.OwnStatus()
	if own.Leased {
		return own.Applied, nil
	}
	if own.Leader == "" || own.Leads {
		return 0, ErrNoLeader
	}
	r, err := n.statuses.Fetch(ctx, own.Leader)
	if err == nil && !r.Leased {
		err = ErrNoLeader
	}
	return r.Applied, err
}

// WaitFor returns how many other nodes have on disk everything acknowledged before the call, once there are replicas of
// them, or at the end of ctx.
func (n *Node) WaitFor(ctx context.Context, replicas int) (acknowledged int) {
	index, err := n.awaitReadIndex(ctx)
	if err != nil {
		return 0
	}
	replicas = min(replicas, len(n.raft.servers())-1)
	for {
		acknowledged = 0
		for _, r := range n.statuses.FetchAll(ctx, time.Second) {
			if r.Last >= index && r.ClusterID == n.saved.clusterID() {
				acknowledged++
			}
		}
		if acknowledged >= replicas || ctx.Err() != nil {
			return acknowledged
		}
		clock.Sleep(ctx, 10*time.Millisecond)
	}
}

// watchClock notes suspends of the machine, and warns while the cluster's time is far ahead of its clock, until ctx is done.
func (n *Node) watchClock(ctx context.Context) {
	noteSuspends := n.clock.Suspends(func() time.Duration {
		_, up := n.opt.SinceBoot()
		return up
	})
	clock.Every(ctx, n.opt.MeetEvery, func() {
		noteSuspends()
		if ahead := n.clock.Ahead(); ahead > persistence.MaxAhead {
			n.log.WarnOnce("ahead", "the cluster's time is ahead of this machine's clock: that clock is behind, or a leader's was ahead once. In the second case TIME and EXAT are wrong, until the cluster begins with a backup and --rewind",
				"ahead", ahead, "cluster_time", time.Unix(0, n.clock.Now()).UTC(), "machine", n.opt.Wall().UTC())
		}
	})
}
