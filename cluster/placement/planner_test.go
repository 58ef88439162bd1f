package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testsize"
)

// model is a cluster whose groups follow its table, as leaders make them.
type model struct {
	nodes  []raft.ServerID
	table  *Table
	voters [][]raft.ServerID
	names  int
}

func (m *model) view() View {
	return View{Nodes: m.nodes, Voters: func(g int) []raft.ServerID { return m.voters[g-1] }}
}

// settle makes the members of one group follow the table.
func (m *model) settle(from int) {
	for i := range m.voters {
		g := (from + i) % len(m.voters)
		isStuck := slices.ContainsFunc(m.table.Groups[g], func(id raft.ServerID) bool { // it never gets the state
			return !slices.Contains(m.voters[g], id) && !slices.Contains(m.nodes, Node(id))
		})
		if !isStuck && !sameIDs(m.table.Groups[g], m.voters[g]) {
			m.voters[g] = slices.Clone(m.table.Groups[g])
			return
		}
	}
}

func (m *model) unsettled() (n int) {
	for g, on := range m.table.Groups {
		if !sameIDs(on, m.voters[g]) {
			n++
		}
	}
	return n
}

// disturb lets a node join, leave, or lose its disk.
func (m *model) disturb(r *rand.Rand) {
	switch at := r.IntN(len(m.nodes)); r.IntN(3) {
	case 0:
		if len(m.nodes) < 12 {
			m.names++
			m.nodes = append(m.nodes, raft.ServerID(fmt.Sprint("n", m.names, "#0")))
		}
	case 1:
		if len(m.nodes) > m.table.Replicas {
			m.nodes = slices.Delete(slices.Clone(m.nodes), at, at+1)
		}
	case 2:
		name, run := "", 0
		fmt.Sscanf(string(m.nodes[at]), "n%s", &name)
		fmt.Sscanf(name[slices.Index([]byte(name), '#')+1:], "%d", &run)
		m.nodes = slices.Clone(m.nodes)
		m.nodes[at] = raft.ServerID(fmt.Sprint("n", name[:slices.Index([]byte(name), '#')], "#", run+1))
	}
}

// From any state, by changes of one replica and two groups at a time, every group comes to have its replicas on
// members, and all members the same number, give or take one. No group has fewer than before, and no replica an id that
// another had.
func TestTablesConverge(t *testing.T) {
	r := rand.New(rand.NewPCG(testsize.Seed(), 7))
	for round := range 300 {
		m := &model{}
		for range 3 + r.IntN(6) {
			m.names++
			m.nodes = append(m.nodes, raft.ServerID(fmt.Sprint("n", m.names, "#0")))
		}
		m.table = First(m.nodes, 1+r.IntN(16), 3)
		used := map[string]bool{}
		for g, on := range m.table.Groups {
			m.voters = append(m.voters, slices.Clone(on))
			for _, id := range on {
				used[fmt.Sprint(g, id)] = true
			}
		}
		for range r.IntN(6) {
			m.disturb(r)
		}
		steps := 0
		for next := Next(m.table, m.view()); next != nil || m.unsettled() > 0; next = Next(m.table, m.view()) {
			if steps++; steps > 2000 {
				t.Fatalf("round %d: no end: %v of %v", round, m.table, m.nodes)
			}
			if next == nil || m.unsettled() > 0 && r.IntN(2) == 0 {
				m.settle(r.IntN(len(m.voters)))
				continue
			}
			if next.Version != m.table.Version+1 {
				t.Fatalf("round %d: version %d after %d", round, next.Version, m.table.Version)
			}
			for g, on := range next.Groups {
				if len(on) < m.table.Replicas {
					t.Fatalf("round %d: group %d has %d replicas", round, g+1, len(on))
				}
				for _, id := range on {
					if isNew := !slices.Contains(m.table.Groups[g], id); isNew && used[fmt.Sprint(g, id)] {
						t.Fatalf("round %d: group %d has %s again", round, g+1, id)
					}
					used[fmt.Sprint(g, id)] = true
				}
			}
			if m.table = next; m.unsettled() > maxUnsettled {
				t.Fatalf("round %d: %d groups change at a time", round, m.unsettled())
			}
			if r.IntN(20) == 0 && steps < 500 {
				m.disturb(r)
			}
		}
		load := map[raft.ServerID]int{}
		for g, on := range m.table.Groups {
			distinct := map[raft.ServerID]bool{}
			for _, id := range on {
				load[Node(id)]++
				distinct[Node(id)] = true
			}
			if len(on) != 3 || len(distinct) != 3 {
				t.Fatalf("round %d: group %d is on %v", round, g+1, on)
			}
		}
		most, least := 0, len(m.table.Groups)
		for _, n := range m.nodes {
			most, least = max(most, load[n]), min(least, load[n])
			delete(load, n)
		}
		if most-least > 1 || len(load) > 0 {
			t.Fatalf("round %d: nodes have %d to %d replicas, and those that are no members %v: %v", round, least, most, load,
				m.table)
		}
	}
}
