package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// The methods here do for all groups of a node what those of a group do for one.

// each calls f for all groups at once, and returns their errors.
func (n *Node) each(f func(g *group.Group) error) error { return eachOf(n.groups(), f) }

func eachOf(groups []*group.Group, f func(g *group.Group) error) error {
	errs, called := make([]error, len(groups)), sync.WaitGroup{}
	for i, g := range groups {
		called.Go(func() { errs[i] = f(g) })
	}
	called.Wait()
	return errors.Join(errs...)
}

// HandOver is [group.Group.HandOver].
func (n *Node) HandOver(ctx context.Context) error {
	return eachOf(n.everyGroup(), func(g *group.Group) error { return g.HandOver(ctx) })
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
	return n.each(func(g *group.Group) error { return g.Snapshot(ctx) })
}

// SetAhead is [group.Group.SetAhead].
func (n *Node) SetAhead(d time.Duration) {
	n.first.SetAhead(d)
	n.keys.SetAhead(d)
}

// WaitFor is [group.Group.WaitFor]: the fewest of all groups. Of those without a replica here it is a majority, as of
// every acknowledged entry.
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

// Add is [group.Group.Add]. The node then joins the groups of keys, whose leaders give votes to the voters of group 0
// and take them from its nonvoters; where replicas are on some nodes, only its voters have some.
func (n *Node) Add(ctx context.Context, node, address string, voter bool) error {
	if !voter {
		if err := keepsVoters(n.first, node, n.opt.Replicas); err != nil {
			return err
		}
	}
	return whenLed(ctx, func() error { return n.first.Add(ctx, node, address, voter) })
}

// Remove is [group.Group.Remove], from the groups of keys first. One that runs may join them again until group 0 has
// removed it too.
//
// Where replicas are on some nodes, it leaves the cluster first, and its replicas begin elsewhere before they leave
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

// LeaderOf reports whether this node decides an operation, and where clients reach the leader that does, "" while none
// is known. Where the operation's group is not certain, any node may be asked.
func (n *Node) LeaderOf(op *engine.Op) (leads bool, client string) {
	if n.router == nil {
		return n.first.Leads()
	}
	if at := n.router.Place(op); at > 0 && at <= len(n.keys.All()) && op.Request().Verb != engine.Check {
		return n.keys.All()[at-1].Asked().Leads()
	}
	return true, ""
}

// Leaders is a number that stands for the leaders of all groups and their terms: another one, if one of them is
// another. It is 0 while none is known.
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

// Status is [group.Group.Status] of group 0. With groups of keys it counts what all have done, lists them, and is
// healthy when all are that have a leader: no node answers for the others.
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

// keepsVoters returns an error if without a node too few voters would be left for the replicas of a group.
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
