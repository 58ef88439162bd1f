package keygroups

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/raftnode"
)

// placer changes the table of the groups' replicas, and makes the groups' members follow it. It works on the leader of
// group 0.
type placer struct {
	keys     *Groups
	statuses *peers.Statuses
	log      *oncelog.Log
}

func (p *placer) step(ctx context.Context) {
	leads, _ := p.keys.first.Leads()
	known := p.keys.first.Cluster()
	if !leads || known.Placement == nil || len(p.keys.All()) == 0 || p.keys.AwaitsImport() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, group.RPCTimeout)
	defer cancel()
	members := map[int]map[raft.ServerID]bool{}
	for i := range known.Placement.Groups {
		members[i+1] = p.membersOf(i + 1)
	}
	view := placement.View{Voters: func(number int) (voters []raft.ServerID) {
		for id, votes := range members[number] {
			if votes {
				voters = append(voters, id)
			}
		}
		return voters
	}}
	var silent []string
	for _, s := range p.keys.first.Members() {
		m, described := known.Members[s.ID]
		if m.Nonvoter {
			continue // it has no replicas, or is to lose them
		}
		view.Nodes = append(view.Nodes, s.ID)
		if r, heard := p.statuses.Last(s.ID); !described || s.ID != p.keys.id && (!heard || !p.statuses.IsAlive(r)) {
			silent = append(silent, raftnode.NodeName(s.ID))
		}
	}
	p.replaceLeaders(ctx, view.Nodes, len(members))
	switch next := placement.Next(known.Placement, view); {
	case next != nil && len(silent) > 0:
		names := strings.Join(silent, ", ")
		p.log.WarnOnce("silent "+names,
			"replicas cannot move until these nodes answer: start them, or RAFT REMOVE the nodes that are gone for good",
			"nodes", names)
	case next != nil:
		if err := group.Place(ctx, p.keys.first, next); err != nil {
			p.log.Once("place "+err.Error(), "the replicas of a group could not be moved yet", "error", err)
			return
		}
		p.log.Info("the replicas of a group move", "table", next)
		return
	}
	for number, all := range members {
		p.remove(ctx, number, known.Placement.Of(number), all)
	}
}

// replaceLeaders moves the leadership of groups to voters of the cluster. A leader that was removed does not learn of
// new tables, and so would not take the right members.
func (p *placer) replaceLeaders(ctx context.Context, nodes []raft.ServerID, groups int) {
	for number := 1; number <= groups; number++ {
		leader := p.statuses.LeaderOf(uint32(number))
		if leader.Address == "" || slices.Contains(nodes, placement.Node(leader.ID)) {
			continue
		}
		if err := p.keys.Group(number).Asked().Transfer(ctx, ""); err != nil {
			p.log.Once("replace "+err.Error(), "a group is still led by a node that was removed or is a nonvoter", "group",
				number, "id", leader.ID, "error", err)
		}
	}
}

// membersOf returns the members of a group and whether they vote, as its leader sees them; nil if no leader is known.
func (p *placer) membersOf(number int) map[raft.ServerID]bool {
	if g := p.keys.Replica(uint32(number)); g != nil {
		if leads, _ := g.Leads(); leads {
			return Votes(g)
		}
	}
	return p.statuses.LeaderOf(uint32(number)).Members
}

// remove removes replicas from a group that the table does not name, once all replicas that it names vote.
func (p *placer) remove(ctx context.Context, number int, placed []raft.ServerID, members map[raft.ServerID]bool) {
	surplus := map[raft.ServerID]bool{}
	for id := range members {
		surplus[id] = true
	}
	for _, id := range placed {
		if delete(surplus, id); !members[id] {
			return
		}
	}
	for id := range surplus {
		if err := p.keys.Group(number).Asked().Remove(ctx, string(id), false); err != nil {
			p.log.Once("leave "+err.Error(), "a replica has not left its group yet", "group", number, "id", id, "error", err)
		}
	}
}
