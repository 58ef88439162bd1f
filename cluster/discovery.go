package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// discoverLoop meets the other nodes. It bootstraps the cluster once enough nodes have met, or joins an existing one.
// After that it fetches the status of every node regularly.
func (n *Node) discoverLoop(ctx context.Context) {
	tick := time.NewTicker(n.opt.MeetEvery)
	defer tick.Stop()
	for {
		if n.raft.State() == raft.Shutdown && ctx.Err() == nil {
			n.fail(errRaftEnded)
			return
		}
		others := n.statuses.fetchAll(ctx, n.opt.MeetEvery)
		if !n.isMember() {
			n.joinOrBootstrap(ctx, others)
		} else if !n.announced() || n.isDisowned() {
			n.announce(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

var errRaftEnded = errors.New("its Raft has ended: start it again")

// joinOrBootstrap is the discovery step of a node without a cluster.
func (n *Node) joinOrBootstrap(ctx context.Context, others []peerStatus) {
	for _, r := range others {
		if r.ClusterID != "" {
			if known := n.saved.clusterID(); known != "" && known != r.ClusterID || known == "" && n.raft.hasLog() {
				n.log.once("foreign", "a node of another cluster is in --cluster-peers", "address", r.address, "its_cluster", r.ClusterID, "own_cluster", known)
				continue
			}
			n.announce(ctx)
			return
		}
	}
	if n.raft.hasLog() || n.opt.BootstrapExpect == 0 {
		return
	}
	fresh := map[string]raft.Server{nodeName(n.id): {ID: n.id, Address: raft.ServerAddress(n.opt.Advertise)}}
	for _, r := range others {
		if r.Started {
			return // a node has been in a cluster: this is not the first start, and that cluster has to be found
		}
		if other, twice := fresh[nodeName(r.ID)]; twice {
			n.log.once("twice", "two nodes have the same --node-id; each needs its own", "node_id", nodeName(r.ID), "addresses", fmt.Sprint(other.Address, " and ", r.address))
			return
		}
		fresh[nodeName(r.ID)] = raft.Server{ID: r.ID, Address: raft.ServerAddress(r.address)}
	}
	delete(fresh, nodeName(n.id))
	if len(fresh)+1 < n.opt.BootstrapExpect {
		n.log.once("waiting", "waiting for other nodes to form a cluster with", "met", len(fresh)+1, "bootstrap_expect", n.opt.BootstrapExpect)
		return
	}
	met := slices.Collect(maps.Values(fresh))
	if slices.ContainsFunc(met, func(s raft.Server) bool { return string(s.Address) < n.opt.Advertise }) {
		return // of those that have met, the one with the first address forms it
	}
	if err := n.bootstrap(ctx, met); err != nil && ctx.Err() == nil {
		n.log.once("form "+err.Error(), "the cluster could not be formed yet", "error", err)
	}
}

// isMember reports whether this node's log contains it as a member of a cluster.
func (n *Node) isMember() bool {
	_, listed := n.raft.own()
	return listed && n.saved.clusterID() != ""
}

// announced reports whether the cluster knows this node's current addresses.
func (n *Node) announced() bool {
	own, listed := n.raft.own()
	m, known := n.fsm.cluster.Load().Members[n.id]
	return listed && known && m.Client == n.opt.Client && string(own.Address) == n.opt.Advertise
}

// isDisowned reports whether another node leads this cluster and does not replicate to this one. This node may have been
// removed without learning of it from its log: then it has to join again.
func (n *Node) isDisowned() bool {
	leader, _ := n.raft.LeaderWithID()
	return leader == "" && n.leader.claimed() != ""
}

// announce asks the leader to make this node a member, or to record its new addresses.
func (n *Node) announce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rpcTimeout)
	defer cancel()
	me := member{Node: nodeName(n.id), Client: n.opt.Client, Formats: n.formats.stated()}
	if known, ok := n.fsm.cluster.Load().Members[n.id]; ok {
		me.Nonvoter = known.Nonvoter
	}
	err := n.callLeader(ctx, request{Join: &joinRequest{ID: n.id, Address: n.opt.Advertise, Member: me}})
	if err != nil && ctx.Err() == nil {
		n.log.once("join "+err.Error(), "could not join the cluster yet", "error", err)
	}
}
