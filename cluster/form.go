package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// keepCompany meets the other nodes: it forms the cluster once when enough have met, or joins the one there is, and from
// then on keeps up with how they are.
func (n *Node) keepCompany(ctx context.Context) {
	tick := time.NewTicker(n.opt.MeetEvery)
	defer tick.Stop()
	for {
		others := n.askAll(ctx, n.opt.MeetEvery)
		if !n.isMember() {
			n.joinOrForm(ctx, others)
		} else if !n.announced() {
			n.announce(ctx)
		}
		n.remember()
		n.keepClock()
		if snapshots, err := n.disk.Snapshots().List(); err == nil && len(snapshots) > 0 { // it reads a directory
			n.lastSnapshot.Store(snapshots[0].Index)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// joinOrForm is for a node that belongs to no cluster yet.
func (n *Node) joinOrForm(ctx context.Context, others []report) {
	for _, r := range others {
		if r.ClusterID != "" {
			if known := n.clusterID(); known != "" && known != r.ClusterID || known == "" && n.hasLog() {
				n.logOnce("foreign", "a node of another cluster is in --cluster-peers", "address", r.address, "its_cluster", r.ClusterID, "own_cluster", known)
				continue
			}
			n.announce(ctx)
			return
		}
	}
	if n.hasLog() || !n.mayForm() {
		return
	}
	fresh := map[string]raft.Server{nodeName(n.id): {ID: n.id, Address: raft.ServerAddress(n.opt.Advertise)}}
	for _, r := range others {
		if r.Started {
			return // somebody has been in a cluster: this is not the first start, and that cluster has to be found
		}
		if other, twice := fresh[nodeName(r.ID)]; twice {
			n.logOnce("twice", "two nodes have the same --node-id; each needs its own", "node_id", nodeName(r.ID), "addresses", fmt.Sprint(other.Address, " and ", r.address))
			return
		}
		fresh[nodeName(r.ID)] = raft.Server{ID: r.ID, Address: raft.ServerAddress(r.address)}
	}
	if len(fresh) < n.opt.BootstrapExpect {
		n.logOnce("waiting", "waiting for other nodes to form a cluster with", "met", len(fresh), "bootstrap_expect", n.opt.BootstrapExpect)
		return
	}
	var first raft.Configuration
	for _, s := range fresh {
		first.Servers = append(first.Servers, s)
	}
	slices.SortFunc(first.Servers, func(a, b raft.Server) int { return strings.Compare(string(a.ID), string(b.ID)) })
	n.log.Info("forming a cluster", "nodes", len(first.Servers))
	if err := n.raft.BootstrapCluster(first).Error(); err != nil {
		n.log.Error("the cluster could not be formed", "error", err)
	}
}

// mayForm reports whether it is this node that forms the cluster: of those that were told of each other the one with the
// first address, so that no two do.
func (n *Node) mayForm() bool {
	return n.opt.BootstrapExpect > 0 && n.opt.Advertise == slices.Min(n.opt.Peers)
}

// hasLog reports whether this node has been in a cluster.
func (n *Node) hasLog() bool { return n.raft.LastIndex() > 0 }

// isMember reports whether this node's log says that it belongs to a cluster.
func (n *Node) isMember() bool {
	_, listed := n.ownServer()
	return listed && n.clusterID() != ""
}

// ownServer is this node as its log's configuration has it.
func (n *Node) ownServer() (own raft.Server, listed bool) {
	servers := n.servers()
	i := slices.IndexFunc(servers, func(s raft.Server) bool { return s.ID == n.id })
	if i < 0 {
		return raft.Server{}, false
	}
	return servers[i], true
}

// announced reports whether the cluster knows of this node what is the case.
func (n *Node) announced() bool {
	own, listed := n.ownServer()
	m, known := n.fsm.known.Load().Members[n.id]
	return listed && known && m.Client == n.opt.Client && string(own.Address) == n.opt.Advertise
}

// announce asks the leader to make this node a member, or to note where it is now.
func (n *Node) announce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	me := member{Node: nodeName(n.id), Client: n.opt.Client}
	if known, ok := n.fsm.known.Load().Members[n.id]; ok {
		me.Spare = known.Spare
	}
	err := n.askLeader(ctx, request{Join: &joinRequest{ID: n.id, Address: n.opt.Advertise, Member: me}})
	if err != nil && ctx.Err() == nil {
		n.logOnce("join "+err.Error(), "could not join the cluster yet", "error", err)
	}
}

// clusterID is the id of the cluster that this node belongs to, "" if it never did to any.
func (n *Node) clusterID() string {
	if id := n.fsm.known.Load().ClusterID; id != "" {
		return id
	}
	return n.remembered
}

// rememberedKey is where the id is kept on disk: a node must know it before its log has been carried out again, or it
// might take another cluster for its own.
var rememberedKey = []byte("stint/cluster")

// remember keeps the cluster's id.
func (n *Node) remember() {
	if id := n.fsm.known.Load().ClusterID; id != "" && id != n.kept {
		if err := n.disk.Stable().Set(rememberedKey, []byte(id)); err != nil {
			n.logOnce("remember", "the cluster's id could not be kept", "error", err)
			return
		}
		n.kept = id
	}
}

// nameCluster has the first leader of a cluster give it an id.
func (n *Node) nameCluster(ctx context.Context) error {
	if n.fsm.known.Load().ClusterID != "" {
		return nil
	}
	return n.write(ctx, kindFound, foundBody{ClusterID: strings.ToLower(rand.Text()[:16])})
}

// keepClock notes how this node's own clock stands to the cluster's, for the next start.
func (n *Node) keepClock() {
	now, applied := n.clock.now(), n.fsm.now.Load()
	if now == 0 || applied == n.clockKept || !n.clock.isLive() {
		return
	}
	if err := n.disk.SaveClock(n.ownClocks(now)); err != nil {
		n.logOnce("clock", "the time could not be kept for the next start; buckets will not refill for the time this node is down", "error", err)
		return
	}
	n.clockKept = applied
}

// recallClock goes on from the time kept, plus what this node's own clocks say has passed since.
func (n *Node) recallClock() {
	saved, err := n.disk.LoadClock()
	if err != nil {
		n.log.Warn("the time kept from the last run does not read; time goes on from the last entry of the log", "error", err)
	}
	if saved.Cluster > 0 {
		n.clock.observe(saved.Cluster + int64(saved.passed(n.ownClocks(0))))
	}
}

// ownClocks is what this node's own clocks show when the cluster's shows now.
func (n *Node) ownClocks(now int64) savedClock {
	boot, up := n.opt.SinceBoot()
	return savedClock{Cluster: now, Wall: n.opt.Wall().UnixNano(), Boot: boot, Up: up}
}
