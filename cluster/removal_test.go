package cluster

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/raftnode"
)

// The leader of group 0 completes a removal that stopped half-way: here only group 0 has removed the node.
func TestRemovalsAreEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateGroups(t, 2, "a", "b", "c", "d")
		defer s.stop()
		time.Sleep(10 * time.Second)
		a := s.nodes["a"]
		if err := a.first.Remove(t.Context(), "d", false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		for number, g := range a.groups() {
			if got := len(g.Members()); got != 3 {
				t.Errorf("group %d has %d members, want 3", number, got)
			}
		}
	})
}

// The last voter stays, with groups and without, and the error has the remedy, which is not to try again.
func TestLastVoterStays(t *testing.T) {
	for _, groups := range []int{2, 0} {
		synctest.Test(t, func(t *testing.T) {
			s := simulateGroups(t, groups, "a")
			defer s.stop()
			if err := s.nodes["a"].Remove(t.Context(), "a"); err == nil || strings.Contains(err.Error(), "try again") ||
				!strings.HasSuffix(err.Error(), "RAFT ADD another voter first") {
				t.Errorf("with --groups %d: %v", groups, err)
			}
		})
	}
}

// An operator's request awaits the next leader of the group that it is for.
func TestRequestsAwaitALeader(t *testing.T) {
	for _, request := range []struct {
		name   string
		number uint32 // the group whose leader has ended
		ask    func(n *Node, ended string) error
	}{
		{"add", 0, func(n *Node, _ string) error { return n.Add(n.ctx, n.opt.Node, n.opt.Advertise, true) }},
		{"remove", 0, func(n *Node, ended string) error { return n.Remove(n.ctx, ended) }},
		{"remove from a group of keys", 1, func(n *Node, ended string) error { return n.Remove(n.ctx, ended) }},
		{"transfer", 0, func(n *Node, _ string) error { return n.Transfer(n.ctx, n.opt.Node) }},
	} {
		t.Run(request.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulateGroups(t, 2, "a", "b", "c", "d")
				defer s.stop()
				ended := raftnode.NodeName(s.leaderOf(request.number).id)
				s.kill(ended)
				for _, n := range s.nodes {
					if err := request.ask(n, ended); err != nil {
						t.Error(err)
					}
					break
				}
			})
		})
	}
}
