package cluster

import (
	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
)

// Disk is the durable storage of a node and its group 0: a [raftstore.Dir], or memory in tests.
type Disk interface {
	group.Storage
	// Incarnation returns the incarnation of the node with a name, which is generated at the first start in an empty
	// place.
	Incarnation(node string) (string, error)
	Close() error
}

// serverID returns a node's id in Raft: its name and its incarnation.
func serverID(node, incarnation string) raft.ServerID {
	return raft.ServerID(node + "#" + incarnation)
}
