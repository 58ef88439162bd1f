package cluster

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// The methods here do for all groups of a node what the methods of a group do for one.

// each calls f for all groups at once, and returns their errors.
func each(groups []*group.Group, f func(g *group.Group) error) error {
	errs, called := make([]error, len(groups)), sync.WaitGroup{}
	for i, g := range groups {
		called.Go(func() { errs[i] = f(g) })
	}
	called.Wait()
	return errors.Join(errs...)
}

// HandOver is [group.Group.HandOver].
func (n *Node) HandOver(ctx context.Context) error {
	return each(n.everyGroup(), func(g *group.Group) error { return g.HandOver(ctx) })
}

// Barrier is [group.Group.Barrier] of group 0, which has all policies. Its error is [ErrImporting] while the cluster
// awaits an import.
func (n *Node) Barrier(ctx context.Context) error {
	err := n.first.Barrier(ctx)
	if err == nil && n.lacksImport() {
		return ErrImporting
	}
	return err
}

// Snapshot is [group.Group.Snapshot].
func (n *Node) Snapshot(ctx context.Context) error {
	return each(n.groups(), func(g *group.Group) error { return g.Snapshot(ctx) })
}

// SetAhead is [group.Group.SetAhead].
func (n *Node) SetAhead(d time.Duration) {
	n.first.SetAhead(d)
	n.keys.SetAhead(d)
}

// WaitFor is [group.Group.WaitFor], with the smallest number that a group returns. A group without a replica here
// counts with a majority, which every acknowledged entry has.
func (n *Node) WaitFor(ctx context.Context, replicas int) (acknowledged int) {
	groups := n.groups()
	counts, asked := make([]int, len(groups)), sync.WaitGroup{}
	for i, g := range groups {
		asked.Go(func() { counts[i] = g.WaitFor(ctx, replicas) })
	}
	asked.Wait()
	if len(groups) <= len(n.keys.All()) {
		counts = append(counts, n.opt.Replicas/2)
	}
	return slices.Min(counts)
}

// LeaderOf reports whether this node decides an operation, and where clients reach the leader that does; "" while no
// leader is known. If the operation's group is not certain, it returns true: any node may be asked.
func (n *Node) LeaderOf(op *engine.Op) (leads bool, client string) {
	if n.router == nil {
		return n.first.Leads()
	}
	if at := n.router.Place(op); at > 0 && at <= len(n.keys.All()) && op.Request().Verb != engine.Check {
		return n.keys.All()[at-1].Asked().Leads()
	}
	return true, ""
}

// Leaders returns a number that stands for the leaders of all groups and their terms: it differs if one of them does.
// It is 0 while no leader is known.
func Leaders(n *Node) (sum uint64) {
	add := func(address string, term uint64) {
		if sum *= 31; address != "" {
			sum += maphash.String(leadersSeed, address) + term
		}
	}
	add(group.Leader(n.first))
	for _, g := range n.keys.All() {
		add(g.Leader())
	}
	return sum
}

var leadersSeed = maphash.MakeSeed()

// Place is [router.Router.Place], of a node with groups of keys.
func (n *Node) Place(op *engine.Op) int { return n.router.Place(op) }

// Status is [group.Group.Status] of group 0, with the groups of keys added as [keygroups.Groups.AddStatus] does.
func (n *Node) Status() clusterstatus.Status {
	s := n.first.Status()
	s.AwaitsImport = n.keys.AwaitsImport()
	s.Healthy = s.Healthy && !s.AwaitsImport
	if n.router == nil {
		return s
	}
	n.keys.AddStatus(&s)
	if n.shared != nil {
		s.Shared = n.shared.Counts()
	}
	s.SharedPatterns = n.patterns.Differing()
	return s
}
