package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// The methods here do for all groups of a node what those of a group do for one.

// each calls f for all groups at once, and returns their errors.
func (n *Node) each(f func(g *group.Group) error) error {
	groups := n.groups()
	errs, called := make([]error, len(groups)), sync.WaitGroup{}
	for i, g := range groups {
		called.Go(func() { errs[i] = f(g) })
	}
	called.Wait()
	return errors.Join(errs...)
}

// HandOver is [group.Group.HandOver].
func (n *Node) HandOver(ctx context.Context) error {
	return n.each(func(g *group.Group) error { return g.HandOver(ctx) })
}

// Barrier is [group.Group.Barrier]. Its error is [ErrImporting] while the cluster awaits an import.
func (n *Node) Barrier(ctx context.Context) error {
	err := n.each(func(g *group.Group) error { return g.Barrier(ctx) })
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
	for _, g := range n.groups() {
		g.SetAhead(d)
	}
}

// WaitFor is [group.Group.WaitFor]: the fewest of all groups.
func (n *Node) WaitFor(ctx context.Context, replicas int) (acknowledged int) {
	groups := n.groups()
	counts, asked := make([]int, len(groups)), sync.WaitGroup{}
	for i, g := range groups {
		asked.Go(func() { counts[i] = g.WaitFor(ctx, replicas) })
	}
	asked.Wait()
	return slices.Min(counts)
}

// Add is [group.Group.Add]. The node then joins the groups of keys.
func (n *Node) Add(ctx context.Context, node, address string, voter bool) error {
	if !voter && n.opt.Groups > 1 {
		return errors.New("a cluster with --groups cannot have nonvoters yet: add the node without NONVOTER")
	}
	return n.first.Add(ctx, node, address, voter)
}

// Remove is [group.Group.Remove], from the groups of keys first. One that runs may join them again until group 0 has removed it too.
func (n *Node) Remove(ctx context.Context, node string) error {
	if err := n.removeFromKeys(ctx, node); err != nil {
		return err
	}
	if err := n.first.Remove(ctx, node, false); err != nil {
		return err
	}
	return n.removeFromKeys(ctx, node)
}

// removeFromKeys removes a node from the groups of keys.
func (n *Node) removeFromKeys(ctx context.Context, node string) error {
	for i, g := range n.KeyGroups() {
		if err := g.Remove(ctx, node, false); err != nil {
			return fmt.Errorf("group %d: %w; try again", i+1, err)
		}
	}
	return nil
}

// LeaderOf reports whether this node decides an operation, and where clients reach the leader that does, "" while none is known. Where the
// operation's group is not certain, any node may be asked.
func (n *Node) LeaderOf(op *engine.Op) (leads bool, client string) {
	if n.router == nil {
		return n.first.Leads()
	}
	if g := n.keys.numbered(uint32(max(0, n.router.Place(op)))); g != nil && op.Request().Verb != engine.Check {
		return g.Leads()
	}
	return true, ""
}

// Place is [router.Router.Place], of a node with groups of keys.
func (n *Node) Place(op *engine.Op) int { return n.router.Place(op) }

// Status is [group.Group.Status] of group 0. With groups of keys it counts what all have done, lists them, and is healthy when all are.
func (n *Node) Status() clusterstatus.Status {
	s := n.first.Status()
	if n.router == nil {
		return s
	}
	groups := n.KeyGroups()
	s.Forming = len(groups) == 0
	s.AwaitsImport = n.keys.awaitsImport()
	s.Healthy = s.Healthy && !s.Forming && !s.AwaitsImport
	for i, g := range groups {
		own := g.Status()
		leader := clusterstatus.Group{Number: i + 1, FirstSlot: slot.First(i+1, len(groups)), LastSlot: slot.First(i+2, len(groups)) - 1,
			LeaderID: own.LeaderID, LastLeaderID: own.LastLeaderID, Term: own.Term, CommitIndex: own.CommitIndex, AppliedIndex: own.AppliedIndex, LogBytes: own.LogBytes, Healthy: own.Healthy}
		for _, m := range own.Members {
			if m.Voter && m.Reachable {
				leader.Voters++
			}
		}
		s.Groups = append(s.Groups, leader)
		s.Healthy = s.Healthy && own.Healthy
		add(&s, &own)
	}
	if n.shared != nil {
		s.Shared = n.shared.Counts()
	}
	return s
}

// add adds the counters of another group.
func add(s, other *clusterstatus.Status) {
	s.LogBytes += other.LogBytes
	s.DiskStalled = s.DiskStalled || other.DiskStalled
	s.DiskErr = cmp.Or(s.DiskErr, other.DiskErr)
	s.Entries += other.Entries
	s.Decisions += other.Decisions
	s.DecidedReadOnly += other.DecidedReadOnly
	s.DecidedByAllowance += other.DecidedByAllowance
	s.Forwarded += other.Forwarded
	s.UncertainOutcomes += other.UncertainOutcomes
	s.NoLeaderOutcomes += other.NoLeaderOutcomes
	s.LeaderChanges += other.LeaderChanges
	s.LocalDecisions += other.LocalDecisions
	s.LentTokens += other.LentTokens
	s.HeldKeys += other.HeldKeys
	s.Lends += other.Lends
	s.VoidedTokens += other.VoidedTokens
	s.CommitLatency.Sum += other.CommitLatency.Sum
	for i := range min(len(s.CommitLatency.Counts), len(other.CommitLatency.Counts)) {
		s.CommitLatency.Counts[i] += other.CommitLatency.Counts[i]
	}
}
