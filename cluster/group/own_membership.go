package group

import (
	"cmp"
	"context"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/raftnode"
)

// HasLog reports whether this node has been in a cluster.
func (g *Group) HasLog() bool { return g.raft.HasLog() }

// HasEnded reports whether the group's Raft has ended.
func (g *Group) HasEnded() bool { return g.raft.State() == raft.Shutdown }

// ClusterID returns the id of this node's cluster, "" if it never belonged to one.
func (g *Group) ClusterID() string { return g.saved.clusterID() }

// Cluster is the state of the cluster itself in the log, as far as this node has applied it.
func (g *Group) Cluster() *fsm.Cluster { return g.fsm.Cluster.Load() }

// Members are the group's members, by this node's log.
func (g *Group) Members() []raft.Server { return g.raft.Servers() }

// Bootstrap begins the group with its first members. Either all of these call it, with the same members, or one of
// them.
func (g *Group) Bootstrap(first raft.Configuration) error {
	return g.raft.BootstrapCluster(first).Error()
}

// IsMember reports whether this node's log contains it as a member of a cluster.
func (g *Group) IsMember() bool {
	_, listed := g.raft.Own()
	return listed && g.saved.clusterID() != ""
}

// HasToAnnounce reports whether a member has to announce itself: because the cluster does not know its current
// addresses, or because another node leads this cluster and does not replicate to this one. In the second case this
// node may have been removed without learning of it from its log, and has to join again.
func (g *Group) HasToAnnounce() bool {
	own, listed := g.raft.Own()
	m, known := g.fsm.Cluster.Load().Members[g.raft.ID]
	if !listed || !known || m.Client != g.opt.Client || string(own.Address) != g.opt.Advertise {
		return true
	}
	leader, _ := g.raft.LeaderWithID()
	return leader == "" && g.leader.claimed() != ""
}

// Announce asks the leader to make this node a member, or to record its new addresses. presumed is the address of a
// leader that another node reports, or "": a node whose state has no members knows only --cluster-peers, which need not
// name the leader.
func (g *Group) Announce(ctx context.Context, presumed string) error {
	me := fsm.Member{Node: raftnode.NodeName(g.raft.ID), Client: g.opt.Client, Formats: g.formats.Stated()}
	me.Nonvoter = g.fsm.Cluster.Load().Members[g.raft.ID].Nonvoter
	join := JoinRequest{ID: g.raft.ID, Address: g.opt.Advertise, Member: me}
	return g.members.ask(ctx, cmp.Or(g.members.leaderAddress(), presumed), Request{Join: &join})
}

// Handle carries out another node's request, if this node leads.
func (g *Group) Handle(ctx context.Context, q Request) Response { return g.members.handle(ctx, q) }

// Place writes the next table of the groups' replicas into the log of group 0, while this node leads it.
func Place(ctx context.Context, g *Group, next *placement.Table) error {
	return g.formats.propose(ctx, fsm.KindPlacement, next)
}

// HasLeft reports whether a replica has left for good. A leader knows this once an entry after the change has been
// applied. A barrier of Raft's would not do, since it does not wait for this node's disk.
func HasLeft(ctx context.Context, g *Group, id raft.ServerID) bool {
	isMember := slices.ContainsFunc(g.raft.Servers(), func(s raft.Server) bool { return s.ID == id })
	return !isMember && len(g.raft.Servers()) > 0 && g.role.active() != nil &&
		g.formats.propose(ctx, fsm.KindTick, nil) == nil
}
