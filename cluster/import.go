package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/importing"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/engine/store"
)

// Source is the state with which a cluster begins.
type Source struct {
	Store   *store.Store // of a standalone server, or from a backup; an import closes it
	At      int64        // its time, in nanoseconds since the Unix epoch
	Scratch string       // a directory with room for a copy
}

// Import initializes the cluster's state, as [group.Group.Import] does. Each group of keys gets its own keys, and all
// policies and scripts. Group 0 is the last: once it has its state, all groups have theirs, and they decide nothing
// before. Purses and reservations of their tokens are left out, and reservations for which [CrossesGroups] is true.
//
// The cluster must have been formed to begin with this import: a founder had its name in [Options].ImportName. Any node
// may complete what another node has begun. The error is [ErrNotDue] if the cluster began without the import.
func (n *Node) Import(ctx context.Context, from Source) (imported bool, err error) {
	parts := importing.New(from.Scratch, from.Store, from.At, n.opt.partsOfImport(), n.opt.partOf, n.opt.onImport)
	defer parts.Close()
	source := func(number int) group.Source {
		return group.Source{At: from.At, Open: func() (io.ReadCloser, int64, error) { return parts.Open(number) }}
	}
	n.keys.SetImporting(true)
	defer n.keys.SetImporting(false)
	groups, err := n.awaitGroups(ctx)
	if err != nil {
		return false, err
	}
	known := n.first.Cluster()
	if known.Imported {
		return false, nil
	}
	if err := checkDue(known.ImportName, n.opt.ImportName); err != nil {
		return false, err
	}
	for i := range groups {
		number := (i + 1) % len(groups) // group 0 is the last
		if imported, err = n.importGroup(ctx, groups[number], source(number)); err != nil {
			return false, fmt.Errorf("group %d: %w", number, err)
		}
		if n.opt.onImport != nil {
			n.opt.onImport(number)
		}
	}
	return imported, nil
}

// importGroup brings one group its part. All requests wait for the import, so it is tried again after errors that may
// pass, such as a full disk or a change of members.
func (n *Node) importGroup(ctx context.Context, g *group.Group, from group.Source) (imported bool, err error) {
	for {
		imported, err = g.Import(ctx, from)
		if err == nil || ctx.Err() != nil || errors.Is(err, importing.ErrDamaged) || errors.Is(err, raft.ErrRaftShutdown) {
			return imported, err
		}
		n.log.WarnOnce("import "+err.Error(), "the import failed and is retried until it succeeds", "error", err)
		clock.Sleep(ctx, n.opt.MeetEvery)
	}
}

// ErrNotDue is the error of an import into a cluster that was formed without an import.
var ErrNotDue = errors.New("the cluster was formed without an import")

// checkDue returns an error if the cluster was not formed to begin with an import.
func checkDue(due, name string) error {
	switch due {
	case name:
		return nil
	case "":
		return ErrNotDue
	}
	return fmt.Errorf("the cluster begins with another state, of %s: start this node with that one", due)
}

// ErrImporting is the error of questions about a state that is not whole yet.
var ErrImporting = errors.New("the cluster does not have the whole state of --cluster-import yet")

// lacksImport reports whether the cluster begins with an import, and a group here does not have its part of it.
func (n *Node) lacksImport() bool {
	return n.first.Cluster().ImportName != "" && slices.ContainsFunc(n.groups(), func(g *group.Group) bool {
		return !g.Cluster().Imported
	})
}

func (o *Options) partsOfImport() int {
	if o.Groups < 2 {
		return 1
	}
	return o.Groups + 1
}

// partOf returns the group that an entry of an import belongs to; below 0 if the entry is left out.
func (o *Options) partOf(e keyspace.Entry) int {
	switch {
	case isPurse(&e):
		return -1
	case o.Groups < 2:
		return 0
	case CrossesGroups(&e, o.Groups):
		return -1
	}
	return slot.GroupOf(slot.Of(database.KeyOf(e.Key)), o.Groups)
}

// awaitGroups waits until this node has the state of every group, and returns them, from group 0 on.
func (n *Node) awaitGroups(ctx context.Context) ([]*group.Group, error) {
	for ctx.Err() == nil {
		groups := n.groups()
		hasAll := len(groups) == n.opt.partsOfImport() && !slices.ContainsFunc(groups, func(g *group.Group) bool {
			return g.Cluster().ClusterID == "" || g.Barrier(ctx) != nil
		})
		if hasAll {
			return groups, nil
		}
		clock.Sleep(ctx, n.opt.MeetEvery/5)
	}
	return nil, ctx.Err()
}

// CrossesGroups reports whether an entry is a reservation that has limits of a group other than the group of its id. No
// group could settle it.
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
