package router

import "github.com/stintdb/stint/engine"

// Group is one of a cluster's groups: the replica of this node, which decides or asks the group's leader.
type Group interface {
	Decide(b *engine.Batch) (finished bool)
}

// Policies are the policies that this node knows, which may be out of date.
type Policies interface {
	AppendPolicyKey(b, policy, id []byte, fields [][]byte, part int) []byte
	// PresentPolicy returns the operations that make what an operation on a policy changes the same in another store.
	PresentPolicy(op *engine.Op) []engine.Op
}
