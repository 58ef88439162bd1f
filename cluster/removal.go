package cluster

import (
	"context"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
)

// endRemovals ends the memberships that RAFT REMOVE has removed and that are left, where group 0 is led: a removal may
// have ended half-way, or a node may have joined a group that did not know of it yet.
func (n *Node) endRemovals(ctx context.Context) {
	if leads, _ := n.first.Leads(); !leads {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, group.RPCTimeout)
	defer cancel()
	for _, id := range n.first.Cluster().Removed {
		if isMember(n.first, id) {
			n.endRemoval(ctx, 0, n.first, id)
		}
		for number, g := range n.keys.Here() {
			if n.opt.Replicas == 0 && isMember(g, id) {
				n.endRemoval(ctx, number, g, id)
			}
		}
	}
}

func isMember(g *group.Group, id raft.ServerID) bool {
	return slices.ContainsFunc(g.Members(), func(s raft.Server) bool { return s.ID == id })
}

func (n *Node) endRemoval(ctx context.Context, number int, g *group.Group, id raft.ServerID) {
	if err := g.Remove(ctx, string(id), true); err != nil {
		n.log.Once("remove "+err.Error(), "a node that was removed is still a member", "id", id, "group", number, "error",
			err)
	}
}
