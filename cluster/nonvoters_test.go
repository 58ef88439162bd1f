package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/engine"
)

// awaitVotes waits until a node is a member of all groups, with a vote in each or in none, and stays so.
func (s *simulated) awaitVotes(name string, want raft.ServerSuffrage) {
	s.t.Helper()
	is := func(number uint32) bool {
		g := s.leaderOf(number).groupOf(number)
		votes, isMember := keygroups.Votes(g)[s.nodes[name].id]
		return isMember && votes == (want == raft.Voter)
	}
	for number := range uint32(s.groups + 1) {
		awaitSimulated(s.t, fmt.Sprintf("%s is a %v of group %d", name, want, number), func() bool { return is(number) })
	}
	time.Sleep(3 * time.Second)
	for number := range uint32(s.groups + 1) {
		if !is(number) {
			s.t.Errorf("%s is not a %v of group %d any more", name, want, number)
		}
	}
}

// leadsNothing checks that a node leads no group for a while.
func (s *simulated) leadsNothing(name string) {
	s.t.Helper()
	for range 40 {
		for _, g := range s.nodes[name].everyGroup() {
			if leads, _ := g.Leads(); leads {
				s.t.Fatalf("%s leads a group", name)
			}
		}
		time.Sleep(time.Second)
	}
}

// A nonvoter of a cluster is a nonvoter in every group: it decides every key, also from tokens that it holds, leads
// nothing and counts in no majority, even after it has lost its disk. With NONVOTER a leader becomes a nonvoter, and
// without it a nonvoter becomes a voter.
func TestNonvoters(t *testing.T) {
	for _, groups := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			s := simulate(t)
			s.names, s.groups, s.ahead, s.expect = []string{"a", "b", "c", "d"}, groups, time.Second, 3
			defer s.stop()
			for _, name := range s.names[:3] {
				s.start(name)
			}
			s.awaitGroups()
			time.Sleep(5 * time.Second)
			set := func(voter bool, want raft.ServerSuffrage) {
				t.Helper()
				if err := s.nodes["b"].Add(t.Context(), "d", "d", voter); err != nil {
					t.Fatal(err)
				}
				s.awaitVotes("d", want)
			}
			decides := func() {
				t.Helper()
				for number := min(1, groups); number <= groups; number++ {
					if res := do(s.nodes["d"], acquire(string(keyOf(max(number, 1), max(groups, 1), 0)), 1000,
						1))[0]; res.Status != engine.OK {
						t.Errorf("group %d: status %d", number, res.Status)
					}
				}
			}
			s.start("d")
			set(false, raft.Nonvoter)
			for range 100 {
				decides()
				time.Sleep(20 * time.Millisecond)
			}
			if s.nodes["d"].Status().LocalDecisions == 0 {
				t.Error("it decides nothing from tokens that it holds")
			}
			s.kill("d")
			s.disks["d"] = newMemDisk(1)
			s.start("d")
			s.awaitVotes("d", raft.Nonvoter)
			decides()
			s.kill("d")
			s.kill("a")
			if res := do(s.nodes["b"], acquire("k", 10, 1))[0]; res.Status != engine.OK {
				t.Errorf("two of three voters decide with status %d", res.Status)
			}
			s.start("a")
			s.start("d")
			time.Sleep(5 * time.Second)
			set(true, raft.Voter)
			for number := range uint32(groups + 1) {
				awaitSimulated(t, "d leads", func() bool {
					_ = s.leaderOf(number).groupOf(number).Transfer(t.Context(), "d")
					return s.leaderOf(number) == s.nodes["d"]
				})
			}
			set(false, raft.Nonvoter)
			s.leadsNothing("d")
			decides()
			if err := s.nodes["d"].Remove(t.Context(), "d"); err != nil {
				t.Error(err)
			}
			time.Sleep(20 * time.Second)
			for _, g := range s.nodes["a"].everyGroup() {
				if n := len(g.Members()); n != 3 {
					t.Errorf("%d members without d", n)
				}
			}
			s.mustNotFail()
		})
	}
}

// A change that has reached only some of the groups goes on when the nodes have been started again.
func TestNonvoterOfSomeGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateGroups(t, 3, "a", "b", "c", "d")
		defer s.stop()
		for _, voter := range []bool{false, true} {
			time.Sleep(10 * time.Second)
			for _, n := range s.nodes {
				n.groupOf(2).Parts().Changing <- struct{}{} // a change of members that does not end
			}
			if err := s.nodes["d"].Add(t.Context(), "d", "d", voter); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			if keygroups.Votes(s.leaderOf(2).groupOf(2))["d#0"] == voter {
				t.Error("nothing holds it up")
			}
			first := s.leaderOf(0)
			able, _ := first.keys.Nodes()
			for _, n := range able {
				if voter && n.ID == "d#0" && (slices.Contains(n.Replicas, 2) || !slices.Contains(n.Replicas, 1)) {
					t.Errorf("of groups 1 to 3, it may lead %v", n.Replicas)
				}
			}
			for _, name := range s.names {
				s.kill(name)
			}
			for _, name := range s.names {
				s.start(name)
			}
			s.awaitVotes("d", map[bool]raft.ServerSuffrage{false: raft.Nonvoter, true: raft.Voter}[voter])
		}
	})
}

// A nonvoter that has lost its disk stays a nonvoter, whenever the leader that takes it in ends.
func TestNonvoterIsReplacedByHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 30 * time.Millisecond
		s := simulate(t)
		lines := s.listenToLog()
		s.names = []string{"a", "b", "c", "d"}
		defer s.stop()
		for _, name := range s.names {
			s.start(name)
		}
		s.leader()
		time.Sleep(3 * time.Second)
		if err := s.nodes["a"].Add(t.Context(), "d", "d", false); err != nil {
			t.Fatal(err)
		}
		for run := 1; run <= 16; run++ {
			leader := s.leader().opt.Node
			for _, other := range s.names {
				s.net.SetDelay(leader, other, delay)
			}
			s.kill("d")
			s.disks["d"] = newMemDisk(run)
			id := s.start("d").id
			awaitSimulated(t, "the leader replaces it", func() bool { return lines.Has("new_id=" + string(id)) })
			time.Sleep(time.Duration(run) * delay / 2)
			s.kill(leader)
			for _, other := range s.names {
				s.net.SetDelay(leader, other, 0)
			}
			s.leader()
			s.start(leader)
			s.awaitVotes("d", raft.Nonvoter)
		}
	})
}

// Where replicas are on some nodes, a nonvoter has none: they leave a node that becomes a nonvoter, and come to a node
// that becomes a voter. It answers every key, and stops no move while it is silent.
func TestNonvoterHasNoReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, replicas = 4, 3
		s := simulateReplicas(t, replicas, nil, groups, "a", "b", "c", "d", "e")
		defer s.stop()
		taken := int64(0)
		settle := func(when string) {
			t.Helper()
			time.Sleep(10 * time.Second)
			s.awaitPlaced(groups, replicas)
			for name, n := range s.nodes {
				taken++
				for number := 1; number <= groups; number++ {
					if res := do(n, acquire(string(keyOf(number, groups, 0)), 1000, 1))[0]; res.Status != engine.OK ||
						res.Remaining != 1000-taken {
						t.Errorf("%s: %s answers for group %d with status %d, %d left, want %d", when, name, number, res.Status,
							res.Remaining, 1000-taken)
					}
				}
			}
		}
		set := func(name string, voter bool) {
			t.Helper()
			if err := s.nodes["a"].Add(t.Context(), name, name, voter); err != nil {
				t.Fatal(err)
			}
		}
		set("e", false)
		settle("without replicas on e")
		s.kill("e")
		s.disks["e"] = newMemDisk(1)
		s.names = append(s.names, "f")
		s.start("f")
		settle("with f")
		has := func(name string, some bool) {
			t.Helper()
			if n := s.disks[name].groupCount(); n > 0 != some {
				t.Errorf("%s has %d replicas", name, n)
			}
		}
		has("f", true)
		s.start("e")
		settle("with e, which has lost its disk")
		has("e", false)
		set("e", true)
		settle("when e votes")
		has("e", true)
		for _, name := range []string{"d", "e", "f"} {
			set(name, false)
		}
		settle("on the last three voters")
		for _, err := range []error{s.nodes["a"].Add(t.Context(), "c", "c", false), s.nodes["a"].Remove(t.Context(), "c")} {
			if err == nil || !strings.Contains(err.Error(), "2 nodes that vote would be left") {
				t.Errorf("too few are left: %v", err)
			}
		}
		if err := s.nodes["a"].Remove(t.Context(), "d"); err != nil {
			t.Errorf("a nonvoter: %v", err)
		}
		s.mustNotFail()
	})
}
