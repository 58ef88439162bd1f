package cluster

import (
	"strings"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/raftstore"
)

// Disk is a node's durable storage: a [raftstore.Dir], or memory in tests.
type Disk interface {
	Logs() raft.LogStore
	Stable() raft.StableStore
	Snapshots() raft.SnapshotStore
	// Incarnation returns the incarnation of the node with a name, which is generated at the first start in an empty place.
	Incarnation(node string) (string, error)
	// SaveClock saves the cluster's time together with this node's own clocks.
	SaveClock(c raftstore.SavedClock) error
	LoadClock() (raftstore.SavedClock, error)
	Close() error
}

// serverID is a node's id in Raft: its name and its incarnation.
func serverID(node, incarnation string) raft.ServerID {
	return raft.ServerID(node + "#" + incarnation)
}

// nodeName is the name in a server id.
func nodeName(id raft.ServerID) string {
	name, _, _ := strings.Cut(string(id), "#")
	return name
}
