package cluster

import (
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
)

// Pressure returns the operations by which all groups of keys refuse new keys by the rules, or take them again, if one that is led does not do so
// yet. full means that the keys here take all the memory that they may. The leader of group 0 has all groups carry them out, whichever node is full: with
// replicas on some nodes, each has other keys.
func Pressure(n *Node, rules admission.Rules, full bool) []engine.Op {
	n.full.Store(full)
	full = full || n.opt.Replicas > 0 && slices.ContainsFunc(n.first.Members(), func(s raft.Server) bool {
		r, _ := n.statuses.Last(s.ID)
		return r.Full && n.statuses.IsAlive(r)
	})
	ops := n.opt.Store.Pressure(rules, full)
	for number, g := range n.keys.here() {
		if leads, leader := g.Leads(); len(ops) == 0 && n.keys.hasState(number) && (leads || leader != "") {
			ops = n.opt.KeyStores[number-1].Pressure(rules, full)
		}
	}
	return ops
}
