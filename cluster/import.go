package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/engine/store"
)

// Import initializes the cluster's state, as [group.Group.Import] does. Each group of keys gets its own keys, of all policies and scripts, and
// group 0 is the last: once it has its state, all have. Reservations for which [CrossesGroups] is true are left out.
func (n *Node) Import(ctx context.Context, from group.Source) (imported bool, err error) {
	if n.router == nil {
		return n.first.Import(ctx, from, func(keyspace.Entry) bool { return true })
	}
	n.keys.importing.Store(true)
	defer n.keys.importing.Store(false)
	groups, err := n.awaitGroups(ctx)
	if err != nil {
		return false, err
	}
	if err := n.checkEmpty(groups); err != nil {
		return false, err
	}
	for i, g := range groups[1:] {
		keep := func(e keyspace.Entry) bool {
			return isOfGroup(&e, i+1, n.opt.Groups) && !CrossesGroups(&e, n.opt.Groups)
		}
		if _, err := g.Import(ctx, from, keep); err != nil {
			return false, fmt.Errorf("group %d: %w", i+1, err)
		}
	}
	return n.first.Import(ctx, from, func(keyspace.Entry) bool { return false })
}

// awaitGroups waits until this node has the state of every group, and returns them, from group 0 on.
func (n *Node) awaitGroups(ctx context.Context) ([]*group.Group, error) {
	for ctx.Err() == nil {
		groups := n.groups()
		hasAll := len(groups) > 1 && !slices.ContainsFunc(groups, func(g *group.Group) bool { return g.Cluster().ClusterID == "" || g.Barrier(ctx) != nil })
		if hasAll {
			return groups, nil
		}
		clock.Sleep(ctx, n.opt.MeetEvery/5)
	}
	return nil, ctx.Err()
}

// checkEmpty refuses an import if it would replace the state of a group, or if some groups would have it and others not.
func (n *Node) checkEmpty(groups []*group.Group) error {
	var have []int // that were imported before
	for number, g := range groups {
		if g.Cluster().Imported {
			have = append(have, number)
		}
	}
	stores := append([]*store.Store{n.opt.Store}, n.opt.KeyStores...)
	for number, g := range groups {
		if !g.Cluster().Imported && group.HoldsState(stores[number]) && !g.IsFounder() {
			return fmt.Errorf("group %d: %w; imported before: groups %v", number, group.ErrHoldsState, have)
		}
	}
	return nil
}

// CrossesGroups reports whether an entry is a reservation with limits of another group than its id, which no group can settle.
func CrossesGroups(e *keyspace.Entry, groups int) bool {
	if e.Limit.Algorithm != limits.Reservation {
		return false
	}
	view, err := e.Reserved()
	if err != nil {
		return false // the entry is refused when it is loaded
	}
	number := slot.GroupOf(slot.Of(database.KeyOf(e.Key)), groups)
	for i := range view.Parts {
		if slot.GroupOf(slot.Of(database.KeyOf(view.Parts[i].Key)), groups) != number {
			return true
		}
	}
	return false
}
