package cluster

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/raftnode"
)

const (
	unevenFor = 30 * time.Second // before a leader is moved; a new leader of group 0 begins as soon as it has heard of all nodes
	moveEvery = 2 * time.Second  // between two moves, each of which costs the group its leader's allowance
)

// balancer has all nodes lead the same number of groups of keys, but for one. It runs where group 0 is led.
type balancer struct {
	keys     *keyGroups
	statuses *peerStatuses
	log      *oncelog.Log

	began time.Time // when this node began to lead group 0, zero if it does not
	since time.Time // of an uneven state, zero for none
	moved time.Time
	even  bool // it was, since began
}

// nodeLeads is a node that can lead, and the groups that it leads.
type nodeLeads struct {
	id       raft.ServerID
	groups   []int
	replicas []int // that it has
}

// next is the transfer of a group's leader that comes next: the number is 0 if each node leads as many groups as it can without another one leading
// more than one more. Where the node that leads the fewest has no replica of a group of one that leads two more, a third one hands it a group first,
// which gets another then: the last step of the shortest such way is the next.
func next(nodes []nodeLeads, prefers func(id raft.ServerID, groups []int) int) (from, to raft.ServerID, number int) {
	for i := len(nodes) - 1; i > 0; i-- {
		most := &nodes[i]
		reached, way := map[raft.ServerID]bool{most.id: true}, []*nodeLeads{most}
		for len(way) > 0 {
			at := way[0]
			way = way[1:]
			for j := range nodes {
				n := &nodes[j]
				both := slices.DeleteFunc(slices.Clone(at.groups), func(number int) bool { return !slices.Contains(n.replicas, number) })
				if reached[n.id] || len(both) == 0 {
					continue
				}
				if len(most.groups)-len(n.groups) > 1 {
					return at.id, n.id, both[prefers(n.id, both)]
				}
				reached[n.id], way = true, append(way, n)
			}
		}
	}
	return "", "", 0
}

func (b *balancer) step(ctx context.Context, now time.Time) {
	if leads, _ := b.keys.first.Leads(); !leads || b.keys.importingHere.Load() {
		b.began, b.even = time.Time{}, false
		return
	}
	if b.began.IsZero() {
		b.began = now
	}
	nodes, all := b.leads()
	if !all {
		return
	}
	from, to, number := next(nodes, b.prefers)
	if number == 0 {
		b.even, b.since = true, time.Time{}
		return
	}
	if b.since.IsZero() {
		b.since = now
	}
	isDue := now.Sub(b.since) >= unevenFor || !b.even && now.Sub(b.began) >= group.StatusRounds*b.keys.opt.MeetEvery
	if !isDue || now.Sub(b.moved) < moveEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, group.RPCTimeout)
	defer cancel()
	b.moved = now
	if err := b.keys.entry(uint32(number)).asked().Transfer(ctx, raftnode.NodeName(to)); err != nil {
		b.moved = now.Add(unevenFor) // an offer that fails costs the leader its lease for a while
		b.log.Once("balance "+err.Error(), "a group could not be led by another node yet", "group", number, "to", to, "error", err)
		return
	}
	b.log.Info("another node leads a group", "group", number, "from", from, "to", to)
}

// prefers is the place of the group that a node leads rather than others: each has its own, so that they seldom move twice.
func (b *balancer) prefers(id raft.ServerID, groups []int) int {
	var ids []raft.ServerID
	for _, s := range b.keys.first.Members() {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	own := slices.Index(ids, id)
	return max(0, slices.IndexFunc(groups, func(number int) bool { return number%len(ids) == own }))
}

// leads are the voters that could lead, by the number of groups that they lead, the fewest first. all is false while a group has no leader
// that is known here.
func (b *balancer) leads() (nodes []nodeLeads, all bool) {
	found, placed := 0, b.keys.first.Cluster().Placement
	for _, s := range b.keys.first.Members() {
		statuses := b.keys.ownStatuses()
		if s.ID != b.keys.id {
			statuses = b.statuses.ofKeyGroups(s.ID)
		}
		if s.Suffrage != raft.Voter || len(statuses) == 0 {
			continue
		}
		n := nodeLeads{id: s.ID}
		canLead := true
		for number, r := range statuses {
			if r.Leads {
				n.groups = append(n.groups, int(number))
			}
			if !placed.IsOn(int(number), s.ID) {
				continue // it leaves, and is not healthy
			}
			canLead = canLead && !r.Unhealthy && !r.Gone && !r.Slow
			if g := b.keys.numbered(number); g == nil || votesOf(g)[r.ID] {
				n.replicas = append(n.replicas, int(number))
			}
		}
		if found += len(n.groups); !canLead {
			n.replicas = nil
		}
		if slices.Sort(n.groups); canLead || len(n.groups) > 0 {
			nodes = append(nodes, n)
		}
	}
	slices.SortStableFunc(nodes, func(a, c nodeLeads) int {
		if len(a.groups) != len(c.groups) {
			return len(a.groups) - len(c.groups)
		}
		return strings.Compare(string(a.id), string(c.id))
	})
	return nodes, found > 0 && found == len(b.keys.all())
}
