// Package keygroups manages the groups of keys of a node, where several groups have the keys of a cluster. It begins
// the groups, makes their replicas follow the table in group 0's log, and spreads their leaders over the nodes.
package keygroups
