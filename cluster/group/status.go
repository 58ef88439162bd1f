package group

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// Status returns the cluster's status as this node sees it.
func (g *Group) Status() clusterstatus.Status {
	known := g.fsm.Cluster.Load()
	m := g.metrics
	s := clusterstatus.Status{
		ClusterID: known.ClusterID, NodeID: raftnode.NodeName(g.raft.ID), State: g.state(), Healthy: g.health.isHealthy(),
		Term: g.raft.CurrentTerm(), FormatVersion: uint32(known.Version()),
		LastLogIndex: g.raft.LastIndex(), CommitIndex: g.raft.CommitIndex(), AppliedIndex: g.fsm.Applied.Load(),
		LogBytes: g.logs.Bytes.Load(), DiskStalled: g.logs.Stalled() > g.opt.DiskTimeout, DiskErr: g.logs.Err(),
		Time: g.fsm.Now.Load(), ClockAhead: g.clock.Ahead(),
		Entries: g.proposer.Proposed.Load(), Rounds: g.proposer.Begun.Load(), LogSyncs: g.logs.Syncs(),
		CommitLatency: g.proposer.Latency.Read(),
		Decisions:     g.fsm.Decisions.Load(), DecidedReadOnly: g.decider.ReadOnly.Load(),
		DecidedByAllowance: g.decider.ByAllowance.Load(), Forwarded: g.forwarder.Forwarded.Load(),
		UncertainOutcomes: m.uncertain.Load(), NoLeaderOutcomes: m.noLeader.Load(), LeaderChanges: m.leaderChanges.Load(),
		LocalDecisions: g.holder.Table.Decisions.Load(), LentTokens: g.holder.Table.Held(), HeldKeys: g.holder.Table.Keys(),
		Lends: g.holder.Table.Lends.Load(), VoidedTokens: g.voids.Tokens.Load(),
	}
	if snapshots, err := g.opt.Disk.Snapshots().List(); err == nil && len(snapshots) > 0 {
		s.LastSnapshotIndex, s.LastSnapshot = snapshots[0].Index, raftstore.SnapshotTime(snapshots[0].ID)
	}
	leader := g.leader.address()
	if s.State == clusterstatus.Leader {
		leader = g.opt.Advertise
	} else if leader != "" {
		s.LastContact = time.Since(g.raft.LastContact())
	}
	last := leader
	if known := g.leader.last.Load(); last == "" && known != nil {
		last = *known
	}
	for _, server := range g.raft.Servers() {
		m := g.memberStatus(server, known)
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

func (g *Group) memberStatus(server raft.Server, known *fsm.Cluster) clusterstatus.Member {
	m := clusterstatus.Member{
		ID: raftnode.NodeName(server.ID), Addr: string(server.Address), ClientAddr: known.Members[server.ID].Client,
		Voter: server.Suffrage == raft.Voter, FormatVersion: uint32(known.Members[server.ID].Formats.OrFirst()),
	}
	if server.ID == g.raft.ID {
		m.Reachable, m.Healthy, m.AppliedIndex = g.raft.State() != raft.Shutdown, g.health.isHealthy(), g.fsm.Applied.Load()
		m.FormatVersion, m.Report = uint32(g.formats.Newest), g.opt.report()
	} else if r, heard := g.statuses.Last(server.ID); heard {
		m.LastContact, m.AppliedIndex, m.Reachable = time.Since(r.At), r.Applied, g.statuses.IsAlive(r)
		m.Healthy = m.Reachable && !r.Unhealthy
		m.FormatVersion = uint32(r.Formats.OrFirst())
		if m.Reachable {
			m.Report = r.Report
		}
	}
	return m
}

func (g *Group) state() clusterstatus.State {
	switch {
	case g.role.current.Load() != nil:
		return clusterstatus.Leader
	case g.raft.State() == raft.Shutdown:
		return clusterstatus.Gone
	case g.saved.clusterID() == "":
		return clusterstatus.Starting
	case g.raft.State() == raft.Follower && g.leader.address() != "":
		return clusterstatus.Follower
	}
	return clusterstatus.Candidate
}

// OwnStatus is the status of this node as a member.
func (g *Group) OwnStatus() MemberStatus {
	r := MemberStatus{
		ID: g.raft.ID, ClusterID: g.saved.clusterID(), Started: g.raft.HasLog(), Advertise: g.opt.Advertise, Client: g.opt.Client, Report: g.opt.report(),
		Leader: g.leader.address(), Term: g.raft.CurrentTerm(), Applied: g.fsm.Applied.Load(), Last: g.raft.LastIndex(),
		Now: g.clock.Now(),
	}
	r.Unhealthy, r.Gone = !g.health.isHealthy(), g.raft.State() == raft.Shutdown
	r.Slow, r.Formats = g.withdrawal.isSlow(), g.formats.Stated()
	own := g.holder.Report()
	r.Process, r.ProcessBefore = own.Process, own.After
	if g.raft.State() != raft.Leader {
		r.Silent = time.Since(g.raft.LastContact())
	}
	if l := g.role.current.Load(); l != nil {
		r.Leads, r.Leader = true, g.opt.Advertise
		r.Leased = l.Holds(g.clock.Moment()) // after the index was read
	}
	return r
}

// Leads reports whether this node leads, and where clients reach the leader, "" while none is elected. It is cheap
// enough for every command.
func (g *Group) Leads() (leads bool, client string) {
	if g.role.current.Load() != nil {
		return true, g.opt.Client
	}
	address := g.leader.elected()
	if address == "" {
		return false, ""
	}
	return false, g.fsm.Cluster.Load().Members[g.raft.IDAt(address)].Client
}

// Leader returns the address of the presumed leader, "" if it is unknown, and the term. It is cheap enough to be called
// all the time.
func Leader(g *Group) (address string, term uint64) {
	if address = g.leader.address(); g.role.current.Load() != nil {
		address = g.opt.Advertise
	}
	return address, g.raft.CurrentTerm()
}

// Now is the cluster's time as far as this node knows it, in nanoseconds since the Unix epoch; before it knows any, its
// own clock's.
func (g *Group) Now() int64 { return g.clock.NowOrWall() }

// Sweep is [store.Store.Sweep] at the time of the last entry applied: a key that has expired by then has expired for
// every later entry. This node's own clock does not count, because a later leader's clock may be behind it.
func (g *Group) Sweep(_ int64, count int) (looked, dropped int) {
	return g.opt.Store.Sweep(g.fsm.Now.Load(), count)
}

// Decide decides a batch. It either fills in the results and returns true, or returns false at once and calls b.Done
// later, within [Config.DecideTimeout]. It never waits. The operations' keys are only read until it returns.
func (g *Group) Decide(b *engine.Batch) (finished bool) { return g.decider.Decide(b) }

// Add makes the node at an address a member, with a vote or without one.
func (g *Group) Add(ctx context.Context, node, address string, voter bool) error {
	add := AdminRequest{Do: "add", Node: node, Address: address, Nonvoter: !voter}
	return g.members.askLeader(ctx, Request{Admin: &add})
}

// Remove ends a membership. It refuses to leave the cluster without a majority that answers. With again, it does
// nothing if the node has been added since it was removed.
func (g *Group) Remove(ctx context.Context, node string, again bool) error {
	return g.members.askLeader(ctx, Request{Admin: &AdminRequest{Do: "remove", Node: node, Again: again}})
}

// Transfer transfers leadership to a member, or with "" to the most suitable one.
func (g *Group) Transfer(ctx context.Context, node string) error {
	return g.members.askLeader(ctx, Request{Admin: &AdminRequest{Do: "transfer", Node: node}})
}

// HandOver gives back the tokens that this process holds, and then transfers leadership to another node, if this one
// leads and another can. Calls that arrive during the transfer are decided by the new leader. After HandOver this node
// may be closed, and no call is lost.
func (g *Group) HandOver(ctx context.Context) error {
	g.holder.ReturnAll(ctx)
	return g.transfers.handOver(ctx)
}

// SetAhead changes how far ahead this process holds tokens of keys in demand. With 0 it gives all of them back.
func (g *Group) SetAhead(d time.Duration) { g.holder.Table.SetAhead(d) }

// TooNew returns the error for operations that were answered with [engine.TooNew]. It names the newest operation and a
// member that does not know it.
func (g *Group) TooNew(ops []engine.Op) error { return g.formats.tooNew(ops) }

// Snapshot has this node write a snapshot and cut its log.
func (g *Group) Snapshot(ctx context.Context) error {
	return g.raft.Await(ctx, g.compactor.TakeSnapshot)
}

// Barrier returns once this node has applied everything that was acknowledged anywhere before the call.
func (g *Group) Barrier(ctx context.Context) error {
	_, err := g.reader.await(ctx)
	return err
}

// WaitFor waits until so many other nodes have on disk everything acknowledged before the call, or until ctx is done.
// It returns how many have.
func (g *Group) WaitFor(ctx context.Context, replicas int) (acknowledged int) {
	index, err := g.reader.await(ctx)
	if err != nil {
		return 0
	}
	replicas = min(replicas, len(g.raft.Servers())-1)
	for {
		acknowledged = 0
		for _, r := range g.statuses.FetchAll(ctx, time.Second) {
			if r.Last >= index && r.ClusterID == g.saved.clusterID() {
				acknowledged++
			}
		}
		if acknowledged >= replicas || ctx.Err() != nil {
			return acknowledged
		}
		clock.Sleep(ctx, 10*time.Millisecond)
	}
}
