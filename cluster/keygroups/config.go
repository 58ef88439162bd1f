package keygroups

import (
	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/router"
	"github.com/stintdb/stint/engine/store"
)

// Config configures a node's groups of keys.
type Config struct {
	Node string // its name

	// Common is the configuration of group 0. Every group of keys gets a copy, with its own number, id, store, disk,
	// log and turns.
	Common group.Config

	Stores []*store.Store                             // of the groups, from group 1 on; empty
	Stable raft.StableStore                           // of group 0: it keeps which groups are here
	Open   func(number int, isNew bool) (Disk, error) // opens the directory of a group, which exists unless it is new
	// Clear removes the rest of a group that has left this node, before the group begins here again.
	Clear func(number int) error
	Turns func() group.Turns // of clients that wait for keys of one group; nil if no clients wait

	Decide func(groups []router.Group) // takes the groups that decide from now on, from group 0 on
}

// Disk is the durable storage of a group of keys.
type Disk interface {
	group.Storage
	// Incarnation returns the incarnation of the node with a name, which is generated at the first start in an empty
	// place.
	Incarnation(node string) (string, error)
	Close() error
	// Remove closes the directory and removes it.
	Remove() error
}
