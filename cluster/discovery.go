package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/cluster/raftnode"
)

// discovery meets the other nodes and makes this node a member of their cluster.
type discovery struct {
	opt      *Options
	id       raft.ServerID
	group    *group.Group // group 0
	statuses *peers.Statuses
	pledges  *pledges
	keys     *keygroups.Groups
	log      *oncelog.Log
	fail     func(error) // ends the node
}

// run meets the other nodes. It bootstraps the cluster once enough nodes have met, or joins an existing one.
// After that it fetches the status of every node regularly.
func (d *discovery) run(ctx context.Context) {
	tick := time.NewTicker(d.opt.MeetEvery)
	defer tick.Stop()
	for {
		if d.group.HasEnded() && ctx.Err() == nil {
			d.fail(keygroups.ErrRaftEnded)
			return
		}
		d.lookUpNames(ctx)
		others := d.statuses.FetchAll(ctx, d.opt.MeetEvery)
		if !d.group.IsMember() {
			d.joinOrBootstrap(ctx, others)
		} else if d.group.HasToAnnounce() {
			d.announce(ctx, "")
		}
		d.nameSilent()
		if err := d.keys.Tend(ctx); err != nil && ctx.Err() == nil {
			d.fail(err)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// lookUpNames finds nodes by the names among --cluster-peers, while this node knows no leader. A member of a cluster with
// a leader knows the other members' addresses.
func (d *discovery) lookUpNames(ctx context.Context) {
	if leads, leader := d.group.Leads(); leads || leader != "" {
		return
	}
	if err := d.statuses.LookUpNames(ctx); err != nil && ctx.Err() == nil {
		reasons := strings.ReplaceAll(err.Error(), "\n", "; ")
		d.log.Once("names "+reasons, "not all nodes of the names in --cluster-peers were found yet", "error", reasons)
	}
}

// silentAfter is how long a node does not answer before it is named in the log.
const silentAfter = 10 * time.Second

// nameSilent warns of nodes that do not answer, while this node knows no leader.
func (d *discovery) nameSilent() {
	if leads, leader := d.group.Leads(); leads || leader != "" {
		return
	}
	if silent := d.statuses.SilentFor(silentAfter); len(silent) > 0 {
		d.log.WarnOnce("silent",
			"this node knows no leader, and other nodes do not answer: check that they run, and their addresses in --cluster-peers", "addresses", strings.Join(silent, ", "))
	}
}

// joinOrBootstrap is the discovery step of a node without a cluster.
func (d *discovery) joinOrBootstrap(ctx context.Context, others []group.MemberStatus) {
	for _, r := range others {
		if r.ClusterID != "" {
			if known := d.group.ClusterID(); known != "" && known != r.ClusterID || known == "" && d.group.HasLog() {
				d.log.Once("foreign", "a node of another cluster is in --cluster-peers", "address", r.Address, "its_cluster",
					r.ClusterID, "own_cluster", known)
				continue
			}
			d.announce(ctx, r.Leader)
			return
		}
	}
	if d.group.HasLog() || d.opt.BootstrapExpect == 0 {
		return
	}
	fresh := map[string]raft.Server{raftnode.NodeName(d.id): {ID: d.id, Address: raft.ServerAddress(d.opt.Advertise)}}
	for _, r := range others {
		if r.Started {
			return // a node has been in a cluster: this is not the first start, and that cluster has to be found
		}
		if other, twice := fresh[raftnode.NodeName(r.ID)]; twice {
			d.log.Once("twice", "two nodes have the same --node-id; each needs its own", "node_id", raftnode.NodeName(r.ID),
				"addresses", fmt.Sprint(other.Address, " and ", r.Address))
			return
		}
		fresh[raftnode.NodeName(r.ID)] = raft.Server{ID: r.ID, Address: raft.ServerAddress(r.Address)}
	}
	delete(fresh, raftnode.NodeName(d.id))
	if len(fresh)+1 < d.opt.BootstrapExpect {
		d.log.Once("waiting", "waiting for other nodes to form a cluster", "met", len(fresh)+1, "bootstrap_expect",
			d.opt.BootstrapExpect, "unanswered", strings.Join(d.statuses.SilentFor(0), ", "))
		return
	}
	if known := d.statuses.Known(); d.opt.BootstrapExpect <= known/2 {
		d.log.WarnOnce("half", "the cluster is not formed, because --bootstrap-expect is not a majority of the nodes in --cluster-peers, so two clusters could form: raise it on every node",
			"bootstrap_expect", d.opt.BootstrapExpect, "nodes", known)
		return
	}
	met := slices.Collect(maps.Values(fresh))
	if slices.ContainsFunc(met, func(s raft.Server) bool { return string(s.Address) < d.opt.Advertise }) {
		return // the node with the first address, of those that have met, forms the cluster
	}
	if err := d.pledges.bootstrap(ctx, met); err != nil && ctx.Err() == nil {
		d.log.Once("form "+err.Error(), "the cluster could not be formed yet", "error", err)
	}
}

// announce asks the leader to make this node a member, or to record its new addresses. presumed is an argument of
// [group.Group.Announce].
func (d *discovery) announce(ctx context.Context, presumed string) {
	ctx, cancel := context.WithTimeout(ctx, group.RPCTimeout)
	defer cancel()
	err := d.group.Announce(ctx, presumed)
	if err != nil && ctx.Err() == nil {
		d.log.Once("join "+err.Error(), "could not join the cluster yet", "error", err)
	}
}
