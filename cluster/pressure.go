package cluster

import (
	"context"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
)

// Pressure returns the operations by which all groups of keys refuse new keys by the rules, or take them again, if
// group 0 does not do so yet. full means that the keys here take all the memory that they may. The leader of group 0
// has all groups carry them out, whichever node is full: with replicas on some nodes, each has other keys.
func Pressure(n *Node, rules admission.Rules, full bool) []engine.Op {
	n.full.Store(full)
	full = full || n.opt.Replicas > 0 && slices.ContainsFunc(n.first.Members(), func(s raft.Server) bool {
		r, _ := n.statuses.Last(s.ID)
		return r.Full && n.statuses.IsAlive(r)
	})
	return n.opt.Store.Pressure(rules, full)
}

// followPressure has the groups that a node leads refuse the new keys that group 0 refuses, and no others: a group that
// had no leader when Pressure changed that was not told.
func followPressure(ctx context.Context, n *Node) {
	for number, g := range n.keys.Here() {
		ops := func() []engine.Op { return n.opt.KeyStores[number-1].Follow(n.opt.Store) }
		if leads, _ := g.Leads(); !leads || n.keys.AwaitsImport() || len(ops()) == 0 || n.knowPolicies(ctx) != nil {
			continue
		}
		if late := ops(); len(late) > 0 {
			// if it is not decided, the next step tries again
			g.Decide(&engine.Batch{Ops: late, Results: make([]engine.Result, len(late)), Done: func() {}})
		}
	}
}
