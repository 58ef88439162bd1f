package keygroups

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
	// A leader is moved after this time. A new leader of group 0 does not wait for it, but until it has heard of all nodes.
	unevenFor = 30 * time.Second
	moveEvery = 2 * time.Second // between two moves, each of which costs the group its leader's allowance
)

// balancer has all nodes lead the same number of groups of keys, give or take one. It runs where group 0 is led.
type balancer struct {
	keys *Groups
	log  *oncelog.Log

	began time.Time // when this node began to lead group 0, zero if it does not
	since time.Time // when nodes began to lead different numbers of groups; zero if they do not
	moved time.Time
	even  bool // nodes led the same number at some time since began
}

// NodeLeads is a node and the groups of keys that it leads, or can lead.
type NodeLeads struct {
	ID       raft.ServerID
	Leads    []int
	Replicas []int // the groups that it can lead, because it has a replica that votes; none if the node cannot lead
}

// next returns the group whose leader moves next, and between which nodes. The number is 0 if no node leads two groups
// more than another one that could lead one of them. If a node that leads few groups has no replica of a group of the
// node that leads many, a third node hands it a group first, and gets one from the other afterwards. next searches for
// the shortest such way, and returns its last step.
func next(nodes []NodeLeads, prefers func(id raft.ServerID, groups []int) int) (from, to raft.ServerID, number int) {
	for i := len(nodes) - 1; i > 0; i-- {
		most := &nodes[i]
		reached, way := map[raft.ServerID]bool{most.ID: true}, []*NodeLeads{most}
		for len(way) > 0 {
			at := way[0]
			way = way[1:]
			for j := range nodes {
				n := &nodes[j]
				both := slices.DeleteFunc(slices.Clone(at.Leads), func(number int) bool {
					return !slices.Contains(n.Replicas, number)
				})
				if reached[n.ID] || len(both) == 0 {
					continue
				}
				if len(most.Leads)-len(n.Leads) > 1 {
					return at.ID, n.ID, both[prefers(n.ID, both)]
				}
				reached[n.ID], way = true, append(way, n)
			}
		}
	}
	return "", "", 0
}

func (b *balancer) step(ctx context.Context, now time.Time) {
	if leads, _ := b.keys.first.Leads(); !leads || b.keys.importing.Load() {
		b.began, b.even = time.Time{}, false
		return
	}
	if b.began.IsZero() {
		b.began = now
	}
	nodes, all := b.keys.Nodes()
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
	isDue := now.Sub(b.since) >= unevenFor || !b.even && now.Sub(b.began) >= group.StatusRounds*b.keys.opt.Common.MeetEvery
	if !isDue || now.Sub(b.moved) < moveEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, group.RPCTimeout)
	defer cancel()
	b.moved = now
	if err := b.keys.Group(number).Asked().Transfer(ctx, raftnode.NodeName(to)); err != nil {
		b.moved = now.Add(unevenFor) // an offer that fails costs the leader its lease for a while
		b.log.Once("balance "+err.Error(), "a group could not be led by another node yet", "group", number, "to", to, "error",
			err)
		return
	}
	b.log.Info("another node leads a group", "group", number, "from", from, "to", to)
}

// prefers returns the index of the group that a node is to lead before others. Each node prefers other groups, so that
// groups seldom move twice.
func (b *balancer) prefers(id raft.ServerID, groups []int) int {
	var ids []raft.ServerID
	for _, s := range b.keys.first.Members() {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	own := slices.Index(ids, id)
	return max(0, slices.IndexFunc(groups, func(number int) bool { return number%len(ids) == own }))
}

// Nodes returns the voters that lead groups, or could, by the number of groups that they lead, the fewest first. all is
// false while a group has no leader that is known here.
func (k *Groups) Nodes() (nodes []NodeLeads, all bool) {
	found, placed := 0, k.first.Cluster().Placement
	for _, s := range k.first.Members() {
		statuses := k.OwnStatuses()
		if s.ID != k.id {
			statuses = k.statuses.OfKeyGroups(s.ID)
		}
		if s.Suffrage != raft.Voter || len(statuses) == 0 {
			continue
		}
		n := NodeLeads{ID: s.ID}
		canLead := true
		for number, r := range statuses {
			if r.Leads {
				n.Leads = append(n.Leads, int(number))
			}
			if !placed.IsOn(int(number), s.ID) {
				continue // it leaves, and is not healthy
			}
			canLead = canLead && !r.Unhealthy && !r.Gone && !r.Slow
			if g := k.Replica(number); g == nil || Votes(g)[r.ID] {
				n.Replicas = append(n.Replicas, int(number))
			}
		}
		if found += len(n.Leads); !canLead {
			n.Replicas = nil
		}
		if slices.Sort(n.Leads); canLead || len(n.Leads) > 0 {
			nodes = append(nodes, n)
		}
	}
	slices.SortStableFunc(nodes, func(a, c NodeLeads) int {
		if len(a.Leads) != len(c.Leads) {
			return len(a.Leads) - len(c.Leads)
		}
		return strings.Compare(string(a.ID), string(c.ID))
	})
	return nodes, found > 0 && found == len(k.All())
}
