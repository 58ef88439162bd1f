package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
)

// A group moves in three steps: the table names one replica more; that replica gets the state and a vote; the table
// names one replica fewer. A replica that the table no longer names is removed from the group, and only then removes
// its directory. A new replica has an id that no replica had before, so a vote that the node gave in the group earlier,
// and has forgotten, does not count twice.

// maxUnsettled bounds the groups whose members change at a time.
const maxUnsettled = 2

// Node returns the id of a replica's node. The id of a replica is that of its node, followed by the version of the
// table in which the replica began; a founder's replica has the id of the node.
func Node(replica raft.ServerID) raft.ServerID {
	name, incarnation, _ := strings.Cut(string(replica), "#")
	incarnation, _, _ = strings.Cut(incarnation, ".")
	return raft.ServerID(name + "#" + incarnation)
}

// View is what is known about the cluster when its table is to be changed.
type View struct {
	Nodes  []raft.ServerID                 // the voters of the cluster
	Voters func(group int) []raft.ServerID // as the group's leader reports them; nil if none does
}

// Next returns the next table. It is nil if there is nothing to change now, because no replica is missing and all nodes
// have the same number, give or take one, or because some group is not ready. It never changes more than one replica.
func Next(t *Table, v View) *Table {
	if len(v.Nodes) < t.Replicas {
		return nil
	}
	p := planner{Table: t, load: map[raft.ServerID]int{}}
	for _, n := range v.Nodes {
		p.load[n] = 0
	}
	for _, replica := range slices.Concat(t.Groups...) {
		if _, is := p.load[Node(replica)]; is {
			p.load[Node(replica)]++
		}
	}
	unsettled := map[int]bool{}
	for i, on := range t.Groups {
		if unsettled[i] = !sameIDs(on, v.Voters(i+1)); !unsettled[i] && len(on) > t.Replicas {
			return p.without(i, p.surplus(on))
		}
	}
	for i, on := range t.Groups {
		for at, replica := range on {
			_, is := p.load[Node(replica)]
			voters := v.Voters(i + 1)
			switch neverVotes := len(voters) > 0 && !slices.Contains(voters, replica); {
			case is, unsettled[i] && !neverVotes, !unsettled[i] && count(unsettled) >= maxUnsettled:
			case neverVotes && len(on) > t.Replicas:
				return p.without(i, replica)
			default:
				if same := p.sameName(replica); same != "" && !p.isOn(on, same) {
					return p.changed(i, slices.Replace(slices.Clone(on), at, at+1, p.begin(same)))
				} else if neverVotes {
					return p.changed(i, slices.Replace(slices.Clone(on), at, at+1, p.begin(p.least(on))))
				}
				return p.with(i, p.least(on))
			}
		}
	}
	if count(unsettled) >= maxUnsettled {
		return nil
	}
	most := slices.MaxFunc(p.nodes(), func(a, b raft.ServerID) int { return cmp.Compare(p.load[a], p.load[b]) })
	for _, to := range p.nodes() {
		for i, on := range t.Groups {
			if p.load[most]-p.load[to] > 1 && !unsettled[i] && p.isOn(on, most) && !p.isOn(on, to) {
				return p.with(i, to)
			}
		}
	}
	return nil
}

// planner is a table that is being changed.
type planner struct {
	*Table
	load map[raft.ServerID]int // the number of replicas of each member
}

// nodes returns the members, the ones with the fewest replicas first.
func (p planner) nodes() []raft.ServerID {
	return slices.SortedFunc(maps.Keys(p.load), func(a, b raft.ServerID) int {
		return cmp.Or(cmp.Compare(p.load[a], p.load[b]), cmp.Compare(a, b))
	})
}

func (p planner) isOn(replicas []raft.ServerID, node raft.ServerID) bool {
	return slices.ContainsFunc(replicas, func(r raft.ServerID) bool { return Node(r) == node })
}

// sameName returns the member with the same name as the node of a replica that is no member: the node has lost its
// disk.
func (p planner) sameName(replica raft.ServerID) raft.ServerID {
	name, _, _ := strings.Cut(string(replica), "#")
	for _, n := range p.nodes() {
		if strings.HasPrefix(string(n), name+"#") {
			return n
		}
	}
	return ""
}

// least returns the member with the fewest replicas among the members without a replica of a group.
func (p planner) least(on []raft.ServerID) raft.ServerID {
	nodes := p.nodes()
	return nodes[slices.IndexFunc(nodes, func(n raft.ServerID) bool { return !p.isOn(on, n) })]
}

// surplus returns the replica to remove from a group that has too many: one whose node is no member, or else the one of
// the member with the most replicas.
func (p planner) surplus(on []raft.ServerID) raft.ServerID {
	return slices.MaxFunc(on, func(a, b raft.ServerID) int { return cmp.Compare(p.weight(a), p.weight(b)) })
}

func (p planner) weight(replica raft.ServerID) int {
	if load, is := p.load[Node(replica)]; is {
		return load
	}
	return len(p.Groups) + 1
}

func (p planner) begin(node raft.ServerID) raft.ServerID {
	return raft.ServerID(fmt.Sprint(node, ".", p.Version+1))
}

func (p planner) with(group int, node raft.ServerID) *Table {
	return p.changed(group, append(slices.Clone(p.Groups[group]), p.begin(node)))
}

func (p planner) without(group int, replica raft.ServerID) *Table {
	return p.changed(group, slices.DeleteFunc(slices.Clone(p.Groups[group]), func(r raft.ServerID) bool {
		return r == replica
	}))
}

func (p planner) changed(group int, on []raft.ServerID) *Table {
	next := &Table{Version: p.Version + 1, Replicas: p.Replicas, Groups: slices.Clone(p.Groups)}
	next.Groups[group] = on
	return next
}

func sameIDs(a, b []raft.ServerID) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func count(of map[int]bool) (n int) {
	for _, is := range of {
		if is {
			n++
		}
	}
	return n
}
