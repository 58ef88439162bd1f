package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/raftstore"
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
		others := n.fetchAllStatuses(ctx, n.opt.MeetEvery)
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
			if known := n.clusterID(); known != "" && known != r.ClusterID || known == "" && n.hasLog() {
				n.logOnce("foreign", "a node of another cluster is in --cluster-peers", "address", r.address, "its_cluster", r.ClusterID, "own_cluster", known)
				continue
			}
			n.announce(ctx)
			return
		}
	}
	if n.hasLog() || n.opt.BootstrapExpect == 0 {
		return
	}
	fresh := map[string]raft.Server{nodeName(n.id): {ID: n.id, Address: raft.ServerAddress(n.opt.Advertise)}}
	for _, r := range others {
		if r.Started {
			return // a node has been in a cluster: this is not the first start, and that cluster has to be found
		}
		if other, twice := fresh[nodeName(r.ID)]; twice {
			n.logOnce("twice", "two nodes have the same --node-id; each needs its own", "node_id", nodeName(r.ID), "addresses", fmt.Sprint(other.Address, " and ", r.address))
			return
		}
		fresh[nodeName(r.ID)] = raft.Server{ID: r.ID, Address: raft.ServerAddress(r.address)}
	}
	delete(fresh, nodeName(n.id))
	if len(fresh)+1 < n.opt.BootstrapExpect {
		n.logOnce("waiting", "waiting for other nodes to form a cluster with", "met", len(fresh)+1, "bootstrap_expect", n.opt.BootstrapExpect)
		return
	}
	met := slices.Collect(maps.Values(fresh))
	if slices.ContainsFunc(met, func(s raft.Server) bool { return string(s.Address) < n.opt.Advertise }) {
		return // of those that have met, the one with the first address forms it
	}
	if err := n.bootstrap(ctx, met); err != nil && ctx.Err() == nil {
		n.logOnce("form "+err.Error(), "the cluster could not be formed yet", "error", err)
	}
}

// hasLog reports whether this node has been in a cluster.
func (n *Node) hasLog() bool { return n.raft.LastIndex() > 0 }

// isMember reports whether this node's log contains it as a member of a cluster.
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

// announced reports whether the cluster knows this node's current addresses.
func (n *Node) announced() bool {
	own, listed := n.ownServer()
	m, known := n.fsm.cluster.Load().Members[n.id]
	return listed && known && m.Client == n.opt.Client && string(own.Address) == n.opt.Advertise
}

// isDisowned reports whether another node leads this cluster and does not replicate to this one. This node may have been
// removed without learning of it from its log: then it has to join again.
func (n *Node) isDisowned() bool {
	leader, _ := n.raft.LeaderWithID()
	return leader == "" && n.claimedLeader() != ""
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
		n.logOnce("join "+err.Error(), "could not join the cluster yet", "error", err)
	}
}

// clusterID returns the id of this node's cluster, "" if it never belonged to one.
func (n *Node) clusterID() string {
	if id := n.fsm.cluster.Load().ClusterID; id != "" {
		return id
	}
	return n.savedClusterID
}

// persistLoop saves the cluster's id and time, which a node needs before its log has been replayed. It has its own
// goroutine, because the disk may hang.
func (n *Node) persistLoop(ctx context.Context) {
	every(ctx, n.opt.MeetEvery, func() {
		n.saveClusterID()
		n.saveClock()
	})
}

// saveClusterID saves the cluster's id.
func (n *Node) saveClusterID() {
	if id := n.fsm.cluster.Load().ClusterID; id != "" && id != n.persistedClusterID {
		if err := n.disk.Stable().Set(raftstore.ClusterIDKey, []byte(id)); err != nil {
			n.logOnce("remember", "cannot save the cluster's id", "error", err)
			return
		}
		n.persistedClusterID = id
	}
}

// assignClusterID gives a new cluster its id. The first leader calls it.
func (n *Node) assignClusterID(ctx context.Context) error {
	if n.fsm.cluster.Load().ClusterID != "" {
		return nil
	}
	return n.proposeJSON(ctx, kindBootstrap, bootstrapBody{ClusterID: strings.ToLower(rand.Text()[:16]), Formats: n.firstFormats()})
}

// saveClock saves the cluster's time together with this node's own clocks. The next start continues from them. A saved pair stays
// valid until one of the clocks is moved.
func (n *Node) saveClock() {
	now, applied := n.clock.now(), n.fsm.now.Load()
	if now == 0 || applied == n.lastSavedTime || !n.clock.isConfirmed() {
		return
	}
	clocks := n.ownClocks(now)
	apart := func(c raftstore.SavedClock) int64 { return c.Cluster - c.Wall }
	if moved := apart(clocks) - apart(n.lastSavedClock); now-n.lastSavedClock.Cluster < int64(keepClockEvery) && max(moved, -moved) < int64(clockMoved) {
		return
	}
	if err := n.disk.SaveClock(clocks); err != nil {
		n.logOnce("clock", "cannot save the time for the next start; buckets will not refill for the time this node is down", "error", err)
		return
	}
	n.lastSavedClock, n.lastSavedTime = clocks, applied
}

const (
	keepClockEvery = 10 * time.Second
	clockMoved     = 100 * time.Millisecond
)

// restoreClock continues from the saved time, plus the time that has passed since by this node's own clocks.
func (n *Node) restoreClock() {
	saved, err := n.disk.LoadClock()
	if err != nil {
		n.log.Warn("cannot read the time saved by the last run; time continues from the last entry of the log, and buckets do not refill for the time this node was down", "error", err)
	}
	if saved.Cluster > 0 {
		n.clock.observe(saved.Cluster + int64(saved.Passed(n.ownClocks(0))))
	}
}

// ownClocks reads this node's own clocks at the cluster's time now.
func (n *Node) ownClocks(now int64) raftstore.SavedClock {
	boot, up := n.opt.SinceBoot()
	return raftstore.SavedClock{Cluster: now, Wall: n.opt.Wall().UnixNano(), Boot: boot, Up: up}
}
