package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/cluster/raftnode"
)

// Add is [group.Group.Add]. The node then joins the groups of keys, whose leaders give votes to the voters of group 0
// and take them from its nonvoters. Where replicas are on some nodes, only voters of group 0 have replicas.
func (n *Node) Add(ctx context.Context, node, address string, voter bool) error {
	if !voter {
		if err := keepsVoters(n.first, node, n.opt.Replicas); err != nil {
			return err
		}
	}
	return whenLed(ctx, func() error { return n.first.Add(ctx, node, address, voter) })
}

// Remove is [group.Group.Remove], from the groups of keys first. A node that runs may join them again until group 0 has
// removed it too.
//
// Where replicas are on some nodes, the node leaves group 0 first, and its replicas begin elsewhere before they leave
// their groups.
func (n *Node) Remove(ctx context.Context, node string) error {
	fromFirst := func() error { return n.first.Remove(ctx, node, false) }
	if n.opt.Replicas > 0 {
		if err := keepsVoters(n.first, node, n.opt.Replicas); err != nil {
			return err
		}
		return whenLed(ctx, fromFirst)
	}
	if err := removeFromAll(ctx, n.keys.All(), node); err != nil {
		return err
	}
	if err := whenLed(ctx, fromFirst); err != nil {
		return err
	}
	return removeFromAll(ctx, n.keys.All(), node)
}

// removeFromAll removes a node from the groups of keys.
func removeFromAll(ctx context.Context, groups []keygroups.Group, node string) error {
	for i, g := range groups {
		if err := whenLed(ctx, func() error { return g.Asked().Remove(ctx, node, false) }); err != nil {
			return fmt.Errorf("group %d: %w", i+1, err)
		}
	}
	return nil
}

// Transfer is [group.Group.Transfer].
func (n *Node) Transfer(ctx context.Context, node string) error {
	return whenLed(ctx, func() error { return n.first.Transfer(ctx, node) })
}

// whenLed repeats a request that has reached no leader, until it does or ctx ends.
func whenLed(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if !errors.Is(err, group.ErrNoLeader) && !errors.Is(err, peers.ErrNotSent) || ctx.Err() != nil {
			return err
		}
		clock.Sleep(ctx, retryAfter)
	}
}

const retryAfter = 50 * time.Millisecond

// keepsVoters returns an error if too few voters would be left for the replicas of a group without a node.
func keepsVoters(first *group.Group, node string, replicas int) error {
	left, known := 0, first.Cluster().Members
	for _, s := range first.Members() {
		if raftnode.NodeName(s.ID) != node && !known[s.ID].Nonvoter {
			left++
		}
	}
	if left < replicas {
		return fmt.Errorf("--cluster-replicas is %d, and %d nodes that vote would be left: add one first", replicas, left)
	}
	return nil
}

// endRemovals ends the memberships of nodes that RAFT REMOVE has removed. The leader of group 0 does so: a removal may
// have stopped half-way, or a node may have joined a group again that did not know of its removal yet.
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
