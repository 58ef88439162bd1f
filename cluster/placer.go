package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/raftnode"
)

// placer changes the table of the groups' replicas, and has the groups' members follow it, where group 0 is led.
type placer struct {
	keys     *keyGroups
	statuses *peerStatuses
	log      *oncelog.Log
}

func (p *placer) step(ctx context.Context) {
	leads, _ := p.keys.first.Leads()
	known := p.keys.first.Cluster()
	if !leads || known.Placement == nil || len(p.keys.all()) == 0 || p.keys.awaitsImport() {
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
		p.log.WarnOnce("silent "+names, "replicas are to move, and wait until these nodes answer: start them, or RAFT REMOVE those that are gone for good", "nodes", names)
	case next != nil:
		if err := group.Place(ctx, p.keys.first, next); err != nil {
			p.log.Once("place "+err.Error(), "the replicas of a group could not be placed otherwise yet", "error", err)
			return
		}
		p.log.Info("the replicas of a group are placed otherwise", "table", next)
		return
	}
	for number, all := range members {
		p.remove(ctx, number, known.Placement.Of(number), all)
	}
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

// replaceLeaders has groups led by voters of the cluster: a node that was removed does not learn of new tables, by which a leader takes members.
func (p *placer) replaceLeaders(ctx context.Context, nodes []raft.ServerID, groups int) {
	for number := 1; number <= groups; number++ {
		leader := p.statuses.claimed("", uint32(number))
		if leader.Address == "" || slices.Contains(nodes, placement.Node(leader.ID)) {
			continue
		}
		if err := p.keys.entry(uint32(number)).asked().Transfer(ctx, ""); err != nil {
			p.log.Once("replace "+err.Error(), "a group is still led by a node that was removed, or is a nonvoter", "group", number, "id", leader.ID, "error", err)
		}
	}
}

// membersOf are the members of a group and whether they vote, as its leader has them; nil if none is known.
func (p *placer) membersOf(number int) map[raft.ServerID]bool {
	if g := p.keys.numbered(uint32(number)); g != nil {
		if leads, _ := g.Leads(); leads {
			return votesOf(g)
		}
	}
	return p.statuses.claimed("", uint32(number)).Members
}

// remove ends the membership of replicas that the table does not name, once all that it names vote.
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
		if err := p.keys.entry(uint32(number)).asked().Remove(ctx, string(id), false); err != nil {
			p.log.Once("leave "+err.Error(), "a replica has not left its group yet", "group", number, "id", id, "error", err)
		}
	}
}
