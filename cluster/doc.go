// Package cluster makes several nodes decide as one: no failure of a minority of nodes loses a grant.
//
// One node leads. It packs waiting operations into one entry of a Raft log, stamped with the cluster's time. Once a
// majority has the entry on disk, every node applies it, in the same order, and the leader answers. Operations that
// change nothing, above all denials, are answered by the leader from its applied state, without an entry. The other
// nodes forward requests to the leader. DESIGN.md describes the flow, the goroutines and the locks, docs/cluster.md the
// effect of each fault on clients.
//
// Raft is github.com/hashicorp/raft; the packages below contain everything around it. A [Node] has the parts of a
// machine, and its groups: see package group for one of them, and package keygroups where several groups have the keys.
package cluster
