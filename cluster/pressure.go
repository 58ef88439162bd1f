package cluster

import (
	"context"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
)

// Pressure returns the operations that make all groups of keys refuse new keys by the rules, or take them again, if
// group 0 does not do so yet. full says that the keys here take all the memory that they may. The leader of group 0 has
// all groups carry out the operations if any node is full: with replicas on some nodes, nodes have different keys.
func Pressure(n *Node, rules admission.Rules, full bool) []engine.Op {
	n.full.Store(full)
	full = full || n.opt.Replicas > 0 && slices.ContainsFunc(n.first.Members(), func(s raft.Server) bool {
		r, _ := n.statuses.Last(s.ID)
		return r.Full && n.statuses.IsAlive(r)
	})
	return n.opt.Store.Pressure(rules, full)
}

// followPressure makes the groups that a node leads refuse the new keys that group 0 refuses, and no others. A group
// without a leader has missed the operations of Pressure.
func followPressure(ctx context.Context, n *Node) {
	for number, g := range n.keys.Here() {
		ops := func() []engine.Op { return n.opt.KeyStores[number-1].Follow(n.opt.Store) }
		if leads, _ := g.Leads(); !leads || n.keys.AwaitsImport() || len(ops()) == 0 || n.knowPolicies(ctx) != nil {
			continue
		}
		if late := ops(); len(late) > 0 {
			// the next step tries again if the batch is not decided
			g.Decide(&engine.Batch{Ops: late, Results: make([]engine.Result, len(late)), Done: func() {}})
		}
	}
}
