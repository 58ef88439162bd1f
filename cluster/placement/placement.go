// Package placement says on which nodes of a cluster the replicas of its groups of keys are.
package placement

import (
	"fmt"
	"slices"

	"github.com/hashicorp/raft"
)

// Table says where the replicas of the groups of keys are. It is replaced, never changed.
type Table struct {
	Version  uint64            `json:"version"`  // counts the changes, from 1 on
	Replicas int               `json:"replicas"` // of each group
	Groups   [][]raft.ServerID `json:"groups"`   // the nodes of each group, from group 1 on
}

// First returns the table of a new cluster. Each group is on nodes that follow one another in the order of their ids,
// and begins one node after the group before. So the nodes have the same number of replicas, give or take one, and
// there are as many sets of nodes as nodes: the loss of some nodes stops fewer groups than if every combination of
// nodes had a group.
func First(nodes []raft.ServerID, groups, replicas int) *Table {
	nodes = slices.Sorted(slices.Values(nodes))
	t := &Table{Version: 1, Replicas: replicas}
	for g := range groups {
		var on []raft.ServerID
		for i := range replicas {
			on = append(on, nodes[(g+i)%len(nodes)])
		}
		t.Groups = append(t.Groups, on)
	}
	return t
}

// Everywhere returns the table of a new cluster that begins with an import: any node may bring each group its part, so
// each group is on all nodes. Later [Next] removes replicas until the given number is left.
func Everywhere(nodes []raft.ServerID, groups, replicas int) *Table {
	t := First(nodes, groups, len(nodes))
	t.Replicas = replicas
	return t
}

// Count returns the number of replicas of each group; 0 where every node has one.
func (t *Table) Count() int {
	if t == nil {
		return 0
	}
	return t.Replicas
}

// Number returns the version; 0 without a table.
func (t *Table) Number() uint64 {
	if t == nil {
		return 0
	}
	return t.Version
}

// Of returns the replicas of a group; nil if the table does not say, and every node has one.
func (t *Table) Of(number int) []raft.ServerID {
	if t == nil || number < 1 || number > len(t.Groups) {
		return nil
	}
	return t.Groups[number-1]
}

// IsOn reports whether a node is to have a replica of a group.
func (t *Table) IsOn(number int, node raft.ServerID) bool {
	return t == nil || slices.ContainsFunc(t.Of(number), func(id raft.ServerID) bool { return Node(id) == node })
}

// String shows the whole table.
func (t *Table) String() string {
	if t == nil {
		return "everywhere"
	}
	return fmt.Sprintf("version %d: %v", t.Version, t.Groups)
}
