package keygroups

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testsize"
)

// first prefers the first of the groups that a node could lead.
func first(raft.ServerID, []int) int { return 0 }

func TestNextTransfer(t *testing.T) {
	all := []int{1, 2, 3, 4, 5}
	for name, c := range map[string]struct {
		nodes    []NodeLeads // the fewest leads first
		from, to raft.ServerID
		number   int
	}{
		"even, give or take one": {nodes: []NodeLeads{{"c", []int{5}, all}, {"a", []int{1, 2}, all},
			{"b", []int{3, 4}, all}}},
		"a new node": {[]NodeLeads{{"c", nil, all}, {"a", []int{1, 2}, all}, {"b", []int{3, 4, 5}, all}}, "b",
			"c", 3},
		"a node that cannot lead": {nodes: []NodeLeads{{"c", nil, nil}, {"a", []int{1, 2}, all}, {"b", []int{3, 4}, all}}},
		"a node that has to hand over": {
			[]NodeLeads{{"a", nil, all}, {"b", []int{1}, all}, {"c", []int{2, 3, 4}, nil}}, "c", "a", 2},
		"by a third node": {
			[]NodeLeads{{"a", nil, []int{2}}, {"b", []int{2}, []int{2, 3}}, {"c", []int{3, 4}, []int{3, 4}}}, "b", "a", 2},
		"no way": {nodes: []NodeLeads{{"a", nil, []int{5}}, {"b", []int{2}, []int{2}}, {"c", []int{3, 4}, []int{3, 4}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if from, to, number := next(c.nodes, first); from != c.from || to != c.to || number != c.number {
				t.Errorf("group %d moves from %q to %q; want %d from %q to %q", number, from, to, c.number, c.from, c.to)
			}
		})
	}
}

// From any state, transfers come to an end, go only to nodes with a replica, and leave no node that leads two groups
// more than another one with a replica of one of them.
func TestTransfersComeToAnEnd(t *testing.T) {
	seed := testsize.Seed()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 1000 {
		groups := 1 + r.IntN(20)
		nodes := make([]NodeLeads, 2+r.IntN(5))
		for i := range nodes {
			nodes[i].ID = raft.ServerID(fmt.Sprint(i))
		}
		for number := 1; number <= groups; number++ {
			has := r.Perm(len(nodes))[:1+r.IntN(len(nodes))]
			for _, i := range has {
				nodes[i].Replicas = append(nodes[i].Replicas, number)
			}
			nodes[has[0]].Leads = append(nodes[has[0]].Leads, number)
		}
		move := func() bool {
			slices.SortStableFunc(nodes, func(a, b NodeLeads) int { return len(a.Leads) - len(b.Leads) })
			from, to, number := next(nodes, first)
			for i := range nodes {
				n := &nodes[i]
				switch n.ID {
				case from:
					n.Leads = slices.DeleteFunc(n.Leads, func(other int) bool { return other == number })
				case to:
					if !slices.Contains(n.Replicas, number) {
						t.Fatalf("seed %d: group %d goes to %s, which has %v", seed, number, to, n.Replicas)
					}
					n.Leads = append(n.Leads, number)
				}
			}
			return number > 0
		}
		for moves := 0; move(); moves++ {
			if moves > groups*len(nodes) {
				t.Fatalf("seed %d: %d groups of %d nodes still move after %d transfers: %v", seed, groups, len(nodes), moves, nodes)
			}
		}
		for _, most := range nodes {
			for _, n := range nodes {
				couldLead := slices.ContainsFunc(most.Leads, func(number int) bool { return slices.Contains(n.Replicas, number) })
				if couldLead && len(most.Leads)-len(n.Leads) > 1 {
					t.Fatalf("seed %d: %s leads %v, and %s only %v", seed, most.ID, most.Leads, n.ID, n.Leads)
				}
			}
		}
	}
}
