package keygroups

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/remote"
	"github.com/stintdb/stint/cluster/router"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
)

// Group is a group of keys as this node has it.
type Group struct {
	replica *group.Group     // here; nil for none
	id      raft.ServerID    // of the replica
	conns   transport.Config // the replica's part in the machine's connections
	remote  *remote.Group    // asks the group's leader; nil once the replica here has the state, and until it leaves
}

// Asked is the part of a group that can be asked wherever its replicas are.
type Asked interface {
	router.Group
	Leads() (leads bool, client string)
	Remove(ctx context.Context, node string, again bool) error
	Transfer(ctx context.Context, node string) error
}

// Asked returns the replica or the leader that decides, and carries out an operator's requests.
func (g Group) Asked() Asked {
	switch {
	case g.remote == nil:
		return g.replica
	case g.replica == nil:
		return g.remote
	}
	return beginning{g.replica, g.remote}
}

// Leader returns the address of the group's leader, as far as this node knows it, and the leader's term.
func (g Group) Leader() (address string, term uint64) {
	if g.remote == nil {
		return group.Leader(g.replica)
	}
	if l, leads := g.remote.LeaderStatus(); leads {
		return l.Address, l.Term
	}
	return "", 0
}

// String describes the group in logs.
func (g Group) String() string { return fmt.Sprintf("replica %q, asks %t", g.id, g.remote != nil) }

// noteConnected tells the replica here that a node has connected, by the id of that node's replica.
func (g Group) noteConnected(from raft.ServerID) {
	for _, s := range g.replica.Members() {
		if placement.Node(s.ID) == from {
			g.conns.OnConnect(s.ID)
		}
	}
}

// beginning is a group whose replica here does not have the state yet, or leaves. The replica is asked only while it
// leads.
type beginning struct {
	replica *group.Group
	remote  *remote.Group
}

func (b beginning) asked() Asked {
	if leads, _ := b.replica.Leads(); leads {
		return b.replica
	}
	return b.remote
}

func (b beginning) Decide(batch *engine.Batch) (finished bool) { return b.asked().Decide(batch) }

func (b beginning) Leads() (leads bool, client string) { return b.asked().Leads() }

func (b beginning) Remove(ctx context.Context, node string, again bool) error {
	return b.asked().Remove(ctx, node, again)
}

func (b beginning) Transfer(ctx context.Context, node string) error {
	return b.asked().Transfer(ctx, node)
}

// Votes returns the members of a group, and whether each votes.
func Votes(g *group.Group) map[raft.ServerID]bool {
	votes := map[raft.ServerID]bool{}
	for _, s := range g.Members() {
		votes[s.ID] = s.Suffrage == raft.Voter
	}
	return votes
}
