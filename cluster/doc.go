// Package cluster decides on several nodes as if they were one: what was granted stays granted, whoever dies.
//
// One node leads. It packs the operations that wait into one entry of a Raft log, stamped with the cluster's time; once a
// majority has the entry on disk, every node carries it out in the same order, and the leader answers. What changes
// nothing, a denial above all, the leader answers from the state it has applied, without an entry. The other nodes
// forward what they are asked to the leader. DESIGN.md has the flow, the goroutines and what each fault looks like to
// clients.
//
// Raft is github.com/hashicorp/raft; everything around it is here: [Node] is the whole of a node.
package cluster
