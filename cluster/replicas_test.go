package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/slot"
)

// simulateReplicas is simulateShared with replicas of each group on some nodes.
func simulateReplicas(t *testing.T, replicas int, shared []string, groups int, names ...string) *simulated {
	t.Helper()
	s := simulate(t)
	s.names, s.groups, s.shared, s.replicas = names, groups, shared, replicas
	for _, name := range names {
		s.start(name)
	}
	s.awaitGroups()
	return s
}

// Each group has as many replicas as were asked for, and every node answers for every key: also when a node has ended,
// has come back, and has lost its disk.
func TestReplicasOnSomeNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, replicas = 4, 3
		s := simulateReplicas(t, replicas, nil, groups, "a", "b", "c", "d", "e")
		defer s.stop()
		replicasAre := func(want int) {
			t.Helper()
			for number := 1; number <= groups; number++ {
				have := 0
				for _, n := range s.nodes {
					if n.HasReplica(number) {
						have++
					}
				}
				if have != want {
					t.Errorf("group %d has %d replicas, want %d", number, have, want)
				}
			}
		}
		replicasAre(replicas)
		taken := int64(0)
		take := func(when string) {
			t.Helper()
			for _, name := range s.names {
				n := s.nodes[name]
				if n == nil {
					continue
				}
				taken++
				for number := 1; number <= groups; number++ {
					res := do(n, acquire(string(keyOf(number, groups, 0)), 100, 1))[0]
					if res.Status != engine.OK || res.Remaining != 100-taken {
						t.Errorf("%s: %s answers for group %d with status %d, %d left, want %d", when, name, number, res.Status,
							res.Remaining, 100-taken)
					}
				}
			}
		}
		take("at first")
		for _, name := range s.names {
			s.kill(name)
			s.awaitGroups()
			take("without " + name)
			s.start(name)
			s.awaitGroups()
		}
		replicasAre(replicas)
		take("after each has been away")
		s.kill("b")
		s.disks["b"] = newMemDisk(1)
		s.start("b")
		s.awaitPlaced(groups, replicas)
		replicasAre(replicas)
		take("after b has lost its disk")
		for number, g := range s.nodes["b"].KeyGroups() {
			index := s.leaderOf(uint32(number)).groupOf(uint32(number)).Status().AppliedIndex
			awaitSimulated(t, "b has all of a group", func() bool { return g.Status().AppliedIndex >= index })
		}
		for _, name := range s.names {
			kept := backup(t, s.nodes[name])
			if kept.Len() != groups {
				t.Errorf("a backup by %s has %d keys, want %d", name, kept.Len(), groups)
			}
		}
		time.Sleep(time.Minute)
		for name, n := range s.nodes {
			led := 0
			for _, g := range n.KeyGroups() {
				if leads, _ := g.Leads(); leads {
					led++
				}
			}
			if led > 1 {
				t.Errorf("%s leads %d groups, with %d nodes for %d", name, led, len(s.names), groups)
			}
		}
		s.mustNotFail()
	})
}

// A backup awaits the next leader of a group, also where another node sends the group's state.
func TestBackupAwaitsLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups = 4
		s := simulateReplicas(t, 3, nil, groups, "a", "b", "c", "d", "e")
		defer s.stop()
		do(s.nodes["a"], acquire(string(keyOf(2, groups, 0)), 100, 1))
		old := string(s.leaderOf(2).id)
		s.kill(raftnode.NodeName(s.leaderOf(2).id))
		sent := 0
		for _, n := range s.nodes {
			if !n.HasReplica(2) {
				sent++
			}
		}
		for _, n := range s.nodes {
			if kept := backup(t, n); kept.Len() != 1 {
				t.Errorf("the backup has %d keys, want 1", kept.Len())
			}
		}
		if sent == 0 || string(s.leaderOf(2).id) == old {
			t.Errorf("%d nodes have no replica, and %s led and %s leads: this test shows nothing", sent, old, s.leaderOf(2).id)
		}
	})
}

// An error of a backup advises to try again only where that may help, and to add --stale only where that is lacking.
func TestBackupErrorsOfOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, unreadable = 4, "the snapshot is damaged"
		s := simulateReplicas(t, 3, nil, groups, "a", "b", "c", "d", "e")
		defer s.stop()
		table := s.leaderOf(0).first.Cluster().Placement
		node := s.nodes[s.names[slices.IndexFunc(s.names, func(name string) bool { return !s.nodes[name].HasReplica(2) })]]
		fails := func(stale bool, want, never string) {
			t.Helper()
			if _, err := node.Backup(t.Context(), io.Discard, stale); err == nil || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), never) {
				t.Errorf("with stale %v: %v", stale, err)
			}
		}
		for _, id := range table.Of(2) {
			snapshots := &s.disks[raftnode.NodeName(id)].groups[2].snapshots
			snapshots.mu.Lock()
			snapshots.unreadable = errors.New(unreadable)
			snapshots.mu.Unlock()
		}
		fails(false, unreadable, "try again")
		for _, id := range table.Of(2) {
			s.kill(raftnode.NodeName(id))
		}
		fails(true, "group 2", "--stale")
	})
}

// placed returns an error unless the members of each group are the replicas in the table, no node has any others, and
// all nodes have the same number, give or take one.
func (s *simulated) placed(groups, replicas int) error {
	t := s.leaderOf(0).first.Cluster().Placement
	load := map[string]int{}
	for number := 1; number <= groups; number++ {
		votes := keygroups.Votes(s.leaderOf(uint32(number)).groupOf(uint32(number)))
		if on := t.Of(number); len(on) != replicas || len(votes) != replicas {
			return fmt.Errorf("group %d: %v of %v", number, votes, t)
		}
		for _, id := range t.Of(number) {
			name := raftnode.NodeName(id)
			if load[name]++; !votes[id] || s.nodes[name] == nil || !s.nodes[name].HasReplica(number) {
				return fmt.Errorf("group %d: %s does not vote, or has no state", number, id)
			}
		}
	}
	most, least := 0, groups
	for name, n := range s.nodes {
		if !isMember(s.leaderOf(0).first, n.id) {
			continue // it was removed
		}
		here := 0
		for range n.KeyGroups() {
			here++
		}
		if s.leaderOf(0).first.Cluster().Members[n.id].Nonvoter {
			if here > 0 {
				return fmt.Errorf("the nonvoter %s has %d replicas", name, here)
			}
			continue
		}
		if most, least = max(most, here), min(least, here); here != load[name] || here != s.disks[name].groupCount() {
			return fmt.Errorf("%s has %d replicas and %d directories, and is to have %d", name, here, s.disks[name].groupCount(),
				load[name])
		}
	}
	if most-least > 1 {
		return fmt.Errorf("nodes have %d to %d replicas", least, most)
	}
	return nil
}

// showReplicas logs where the replicas of a group are, and are to be.
func (s *simulated) showReplicas(number uint32) {
	for name, n := range s.nodes {
		s.t.Logf("%s (%s): table %v, %v", name, n.id, n.first.Cluster().Placement, n.keys.Group(int(number)))
		if g := n.groupOf(number); g != nil {
			s.t.Logf("%s: leads %t, applied %d, members %v, Raft %v", name, g.OwnStatus().Leads, g.Status().AppliedIndex, g.Members(),
				g.Parts().Raft.Stats())
		}
	}
	s.t.Logf("members of the cluster: %v", s.leaderOf(0).first.Members())
}

// untilPlaced waits until nothing is wrong with the replicas.
func (s *simulated) untilPlaced(groups, replicas int) (err error) {
	for range 200 {
		if err = s.placed(groups, replicas); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	for number := range groups {
		s.showReplicas(uint32(number) + 1)
	}
	return fmt.Errorf("after %v without faults: %w", 200*time.Second, err)
}

func (s *simulated) awaitPlaced(groups, replicas int) {
	s.t.Helper()
	if err := s.untilPlaced(groups, replicas); err != nil {
		for number := range uint32(groups) {
			s.showReplicas(number + 1)
		}
		s.t.Fatal(err)
	}
}

// Replicas move to a node that is added, and from a node that is removed; a node that has lost its disk gets new ones.
// Nothing is forgotten, and no request fails.
func TestReplicasMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, replicas = 4, 3
		s := simulateReplicas(t, replicas, nil, groups, "a", "b", "c", "d", "e")
		defer s.stop()
		taken := int64(0)
		take := func(when string) {
			t.Helper()
			for name, n := range s.nodes {
				taken++
				for number := 1; number <= groups; number++ {
					if res := do(n, acquire(string(keyOf(number, groups, 0)), 10_000, 1))[0]; res.Status != engine.OK ||
						res.Remaining != 10_000-taken {
						t.Errorf("%s: %s answers for group %d with status %d, %d left, want %d", when, name, number, res.Status,
							res.Remaining, 10_000-taken)
					}
				}
			}
		}
		settle := func(when string) {
			t.Helper()
			for range 3 {
				take(when)
				time.Sleep(time.Second)
			}
			for seconds := 0; s.placed(groups, replicas) != nil && seconds < 15; seconds++ {
				take(when)
				time.Sleep(time.Second)
			}
			s.awaitPlaced(groups, replicas)
			take(when)
		}
		settle("at first")
		s.names = append(s.names, "f")
		s.start("f")
		s.awaitGroups()
		settle("with f")
		if err := s.nodes["a"].Remove(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		settle("without b")
		s.kill("b")
		settle("when b has ended")
		s.kill("c")
		s.disks["c"] = newMemDisk(1)
		s.start("c")
		s.awaitGroups()
		settle("when c has lost its disk")
		s.start("b")
		if err := s.nodes["a"].Add(t.Context(), "b", "b", true); err != nil {
			t.Fatal(err)
		}
		s.awaitGroups()
		settle("with b again")
		s.mustNotFail()
	})
}

// While a member does not answer, no replica moves, and the log names the member. If it is removed, they move.
func TestNoReplicaMovesWhileANodeIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, replicas = 4, 3
		s := simulate(t)
		lines := s.listenToLog()
		s.names, s.groups, s.replicas = []string{"a", "b", "c", "d", "e"}, groups, replicas
		defer s.stop()
		for _, name := range s.names {
			s.start(name)
		}
		s.awaitGroups()
		s.kill("e")
		time.Sleep(10 * time.Second)
		const waits = "replicas cannot move until these nodes answer"
		if lines.Has(waits) {
			t.Error("nothing is to move, and the log says so")
		}
		s.names = append(s.names, "f")
		s.start("f")
		time.Sleep(20 * time.Second)
		if version := s.leaderOf(0).first.Cluster().Placement.Version; version != 1 || !lines.Has(waits) ||
			!lines.Has("nodes=e") {
			t.Errorf("the table has version %d, and the log is\n%s", version, lines)
		}
		if err := s.nodes["a"].Remove(t.Context(), "e"); err != nil {
			t.Fatal(err)
		}
		s.awaitPlaced(groups, replicas)
	})
}

// A group that has lost its majority answers for none of its keys. The nodes without replicas of it stay healthy,
// because they answer for all other keys, and know the policies.
func TestGroupWithoutAMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, replicas = 4, 3 // on abc, bcd, cde and dea
		s := simulateReplicas(t, replicas, nil, groups, "a", "b", "c", "d", "e")
		defer s.stop()
		time.Sleep(10 * time.Second)
		s.kill("d")
		s.kill("e")
		time.Sleep(20 * time.Second)
		for _, name := range []string{"a", "b", "c"} {
			st := s.nodes[name].Status()
			if lost := st.Leaderless(); !slices.Equal(lost, []int{3, 4}) || !st.Healthy {
				t.Errorf("%s is healthy: %v, and knows no leader of the groups %v", name, st.Healthy, lost)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if err := s.nodes[name].Barrier(ctx); err != nil {
				t.Errorf("%s does not know all policies: %v", name, err)
			}
			cancel()
			for number := 3; number <= groups; number++ {
				ask := func() []engine.Result { return do(s.nodes[name], acquire(string(keyOf(number, groups, 1)), 10, 1)) }
				for began := time.Now(); time.Since(began) < group.Patience(s.nodes[name].opt.DecideTimeout); {
					ask()
				}
				began := time.Now()
				if status := ask()[0].Status; status != engine.NoLeader || time.Since(began) > 100*time.Millisecond {
					t.Errorf("%s answers for group %d by status %d after %v", name, number, status, time.Since(began))
				}
			}
		}
		d := s.start("d") // gives its groups a majority again
		st := d.Status()
		awaitSimulated(t, "d is healthy", func() bool { st = d.Status(); return st.Healthy })
		if !st.Groups[0].Healthy || !st.Groups[1].Healthy {
			t.Errorf("it is healthy before it has caught up in the groups that are led: %+v", st.Groups)
		}
		awaitSimulated(t, "all groups are led", func() bool { st = d.Status(); return len(st.Leaderless()) == 0 })
		for _, name := range []string{"a", "b", "c"} {
			for number := 1; number <= groups; number++ {
				awaitSimulated(t, fmt.Sprintf("%s has group %d decide", name, number), func() bool {
					return do(s.nodes[name], acquire(string(keyOf(number, groups, 1)), 10, 1))[0].Status == engine.OK
				})
			}
		}
	})
}

// New keys are refused by all groups when one node is full, also if the leader of group 0 has no replica of the groups
// with the keys.
func TestFullNodeOfReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups = 4 // on abc, bcd, cde and dea
		s := simulateReplicas(t, 3, nil, groups, "a", "b", "c", "d", "e")
		defer s.stop()
		time.Sleep(10 * time.Second)
		rules := admission.Rules{NewKeys: engine.DenyNew}
		full, leader := s.nodes["c"], s.leader()
		if full == leader {
			full = s.nodes["d"]
		}
		refuses := func(number int) bool {
			return do(leader, acquire(string(keyOf(number, groups, 1)), 10, 1))[0].Status != engine.OK
		}
		tell := func(isFull bool) {
			Pressure(full, rules, isFull)
			time.Sleep(2 * time.Second) // statuses
			do(leader, Pressure(leader, rules, false)...)
			time.Sleep(2 * time.Second) // followers
			if ops := Pressure(leader, rules, false); len(ops) > 0 {
				t.Errorf("full: %v, and %d operations are left", isFull, len(ops))
			}
		}
		for _, isFull := range []bool{true, false} {
			tell(isFull)
			for number := 1; number <= groups; number++ {
				if refuses(number) != isFull {
					t.Errorf("full: %v, and group %d refuses a new key: %v", isFull, number, !isFull)
				}
			}
		}
	})
}

// A group that has no leader while memory becomes full, or has room again, follows later, also if the leader of group 0
// has no replica of it.
func TestGroupWithoutALeaderFollowsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups = 4 // on abc, bcd, cde and dea
		s := simulateReplicas(t, 3, nil, groups, "a", "b", "c", "d", "e")
		defer s.stop()
		time.Sleep(10 * time.Second)
		newKey := 0
		for _, isFull := range []bool{true, false} {
			leader, silent := s.leader(), 0
			for number := 1; number <= groups; number++ {
				if !leader.HasReplica(number) {
					silent = number
				}
			}
			ended := leader.first.Cluster().Placement.Of(silent)[:2]
			for _, id := range ended {
				s.kill(raftnode.NodeName(id))
			}
			do(leader, Pressure(leader, admission.Rules{NewKeys: engine.DenyNew}, isFull)...)
			for _, id := range ended {
				s.start(raftnode.NodeName(id))
			}
			for number := 1; number <= groups; number++ {
				awaitSimulated(t, fmt.Sprintf("full: %v, and group %d does alike", isFull, number), func() bool {
					newKey++
					status := do(leader, acquire(string(keyOf(number, groups, newKey)), 10, 1))[0].Status
					return isFull && status == engine.OutOfRoom || !isFull && status == engine.OK
				})
			}
		}
	})
}

// leavingReplica returns a node of which a replica leaves, and the number of the replica's group; nil if there is none.
func (s *simulated) leavingReplica() (of *Node, number int) {
	for _, n := range s.nodes {
		for number := range n.KeyGroups() {
			if n.keys.IsLeaving(number) {
				return n, number
			}
		}
	}
	return nil, 0
}

func (s *simulated) awaitLeaving() (of *Node, number int) {
	s.t.Helper()
	awaitSimulated(s.t, "a replica leaves", func() bool {
		of, number = s.leavingReplica()
		return of != nil
	})
	return of, number
}

// A replica that leaves stays until its calls have been answered. Its node can be given leaders meanwhile.
func TestNodeLeadsWhileAReplicaLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, replicas = 12, 3
		s := simulateReplicas(t, replicas, nil, groups, "a", "b", "c", "d", "e")
		defer s.stop()
		s.awaitLeaving()
		time.Sleep(1500 * time.Millisecond) // until statuses say so
		if of, _ := s.leavingReplica(); of == nil {
			t.Fatal("it has left")
		}
		leader := s.leaderOf(0)
		nodes, _ := leader.keys.Nodes()
		if len(nodes) != len(s.names) {
			t.Errorf("%d nodes are known", len(nodes))
		}
		for _, n := range nodes {
			if len(n.Replicas) == 0 {
				t.Errorf("%s can lead no group", n.ID)
			}
		}
	})
}

// A leader that does not answer when a replica would end is asked again at once, not after another wait for calls.
func TestReplicaLeavesAlthoughTheLeaderDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, replicas = 12, 3
		s := simulateReplicas(t, replicas, nil, groups, "a", "b", "c", "d", "e")
		defer s.stop()
		of, leaving := s.awaitLeaving()
		wait := 2 * of.opt.DecideTimeout
		time.Sleep(wait - 300*time.Millisecond)
		if !of.keys.IsLeaving(leaving) {
			t.Fatal("it has left")
		}
		leader := s.leaderOf(uint32(leaving))
		for name, n := range s.nodes {
			if n == leader {
				s.kill(name)
			}
		}
		time.Sleep(wait + 800*time.Millisecond) // an election, and its winner's status
		if of.groupOf(uint32(leaving)) != nil {
			t.Error("it waits for calls again")
		}
		s.mustNotFail()
	})
}

// sharedKey is a key that all groups share, whose home is a group.
func sharedKey(home int) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("global:", i); slot.GroupOf(slot.Of([]byte(key)), faultGroups) == home {
			return key
		}
	}
}

// The leader of a shared limit's group cannot see the purse in a group of which it has no replica: it voids the loan
// only if that group's leader says that there is none, and not while there is no leader.
func TestPurseInAGroupElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateReplicas(t, 3, []string{"global:*"}, faultGroups, "a", "b", "c", "d", "e")
		defer s.stop()
		const capacity, home, away = 1000, 1, 3 // on a, b, c and on c, d, e
		time.Sleep(10 * time.Second)
		awaitSimulated(t, "a leads the shared limit's group", func() bool {
			_ = s.leaderOf(home).groupOf(home).Transfer(t.Context(), "a")
			return s.leaderOf(home) == s.nodes["a"]
		})
		if s.nodes["a"].HasReplica(away) {
			t.Fatal("it sees the purse")
		}
		global := acquire(sharedKey(home), capacity, 0)
		look := func() engine.Result {
			return do(s.nodes["a"], engine.Op{Verb: engine.Look, Key: global.Key})[0]
		}
		granted := int64(0)
		for look().Lent <= 10 {
			if granted == capacity || !do(s.nodes["b"], userAnd(away, global, 1))[0].Allowed {
				t.Fatalf("after %d grants %d tokens are lent", granted, look().Lent)
			}
			granted++
			time.Sleep(10 * time.Millisecond)
		}
		s.kill("d")
		s.kill("e")
		time.Sleep(30 * time.Second)
		if look().Lent == 0 {
			t.Error("the loan of a group without a majority has ended")
		}
		s.start("d")
		s.start("e")
		awaitSimulated(t, "the tokens come back", func() bool { return look().Lent == 0 })
		if at := look(); at.Remaining != capacity-granted {
			t.Errorf("%d left of %d, and %d granted", at.Remaining, capacity, granted)
		}
		lend := engine.Op{Verb: engine.Lend, Key: global.Key, Limit: global.Limit, Tokens: 5, Options: engine.Whole,
			Who: fmt.Append(nil, "group/", away), Loan: &engine.Loan{Number: 7}}
		if res := do(s.nodes["a"], lend)[0]; res.Granted != 5 {
			t.Fatalf("%+v", res)
		}
		awaitSimulated(t, "a loan without a purse is voided", func() bool { return look().Lent == 0 })
		if at := look(); at.Remaining != capacity-granted-5 {
			t.Errorf("%d left of %d, %d granted and 5 voided", at.Remaining, capacity, granted)
		}
	})
}
