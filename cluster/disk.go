package cluster

import (
	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
)

// Disk is a node's durable storage: a [raftstore.Dir], or memory in tests.
type Disk interface {
	group.Storage
	// Incarnation returns the incarnation of the node with a name, which is generated at the first start in an empty
	// place.
	Incarnation(node string) (string, error)
	Close() error
}

// serverID is a node's id in Raft: its name and its incarnation.
func serverID(node, incarnation string) raft.ServerID {
	return raft.ServerID(node + "#" + incarnation)
}
