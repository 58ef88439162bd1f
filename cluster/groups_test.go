package cluster

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/testsize"
)

// simulateGroups is simulate with groups of keys. It returns once the groups have leaders.
func simulateGroups(t *testing.T, groups int, names ...string) *simulated {
	t.Helper()
	return simulateShared(t, nil, groups, names...)
}

// simulateShared is simulateGroups with patterns of shared keys.
func simulateShared(t *testing.T, shared []string, groups int, names ...string) *simulated {
	t.Helper()
	return simulateReplicas(t, 0, shared, groups, names...)
}

// awaitGroups waits until every node decides keys of every group, also of the only one.
func (s *simulated) awaitGroups() {
	s.t.Helper()
	for name := range s.nodes {
		for number := 1; number <= max(1, s.groups); number++ {
			for tries := 0; ; tries++ {
				if res := do(s.nodes[name], engine.Op{Verb: engine.Look, Key: keyOf(number, s.groups,
					0)})[0]; res.Status == engine.NotFound || res.Status == engine.OK {
					break
				} else if tries == 100 {
					s.t.Fatalf("%s does not decide keys of group %d: status %d", name, number, res.Status)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
	}
}

// keyOf returns key number i of a group.
func keyOf(group, groups, i int) []byte {
	for try := 0; ; try++ {
		if key := fmt.Appendf(nil, "g%d:%d:%d", group, i, try); slot.GroupOf(slot.Of(key), groups) == group {
			return key
		}
	}
}

func TestGroupsFormAndDecideAndComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateGroups(t, 4, "a", "b", "c")
		defer s.stop()
		granted := map[string]int64{}
		take := func() {
			for _, n := range s.nodes {
				var ops []engine.Op
				for number := 1; number <= 4; number++ {
					ops = append(ops, acquire(string(keyOf(number, 4, 0)), 20, 1), acquire(string(keyOf(number, 4, 1)), 20, 1))
				}
				for i, res := range do(n, ops...) {
					if res.Status != engine.OK {
						t.Errorf("%s: %s: status %d", n.opt.Node, ops[i].Key, res.Status)
					}
					granted[string(ops[i].Key)] += res.Granted
				}
			}
		}
		take()
		for _, name := range s.names {
			s.kill(name)
			time.Sleep(2 * time.Second)
			take()
			s.start(name)
			s.awaitGroups()
			take()
		}
		for _, name := range s.names {
			s.kill(name)
		}
		for _, name := range s.names {
			s.start(name)
		}
		s.awaitGroups()
		for name, n := range s.nodes {
			if st := n.Status(); st.Forming || len(st.Groups) != 4 {
				t.Errorf("%s: forming: %t, %d groups", name, st.Forming, len(st.Groups))
			}
		}
		for range 10 {
			take()
		}
		if len(granted) != 8 {
			t.Fatal(granted)
		}
		for key, n := range granted {
			if n != 20 {
				t.Errorf("%s: %d granted of 20", key, n)
			}
		}
		for _, n := range s.nodes {
			if n.opt.Store.Len() != 0 {
				t.Errorf("group 0 has %d keys", n.opt.Store.Len())
			}
		}
	})
}

// The leaders are spread over the nodes within a minute: after the groups have begun, after a node has ended, and after
// it has come back.
func TestLeadersAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		groups := min(testsize.Pick(4, 6), 6)
		s := simulateGroups(t, groups, "a", "b", "c")
		defer s.stop()
		// Within a minute each node leads as many groups as any other, or one more.
		spread := func(when string, nodes int) {
			t.Helper()
			all, most, least := 0, 0, groups
			for waited := 0; waited < 60 && (all != groups || most-least > 1); waited += 5 {
				time.Sleep(5 * time.Second)
				all, most, least = 0, 0, groups
				for _, n := range s.nodes {
					led := 0
					for _, g := range n.KeyGroups() {
						if leads, _ := g.Leads(); leads {
							led++
						}
					}
					all, most, least = all+led, max(most, led), min(least, led)
				}
			}
			if all != groups || most-least > 1 || len(s.nodes) != nodes {
				t.Errorf("%s %d nodes lead %d groups, one of them %d and another %d", when, len(s.nodes), all, most, least)
			}
		}
		spread("at first", 3)
		s.kill("b")
		spread("without b", 2)
		s.start("b")
		spread("with b again", 3)
	})
}

// A node that has lost the directory of one group has lost votes, and does not start; nor does one with another number
// of groups. One that has lost everything comes back as a new member of each group.
func TestNodesThatLostGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateGroups(t, 2, "a", "b", "c")
		defer s.stop()
		time.Sleep(3 * time.Second) // all are known to all
		s.kill("a")
		refused := func(why string) {
			t.Helper()
			o := s.options("a", "a", s.disks["a"])
			n, err := Open(o)
			if err == nil {
				_ = n.Close()
			}
			for _, kept := range append(o.KeyStores, o.Store) {
				kept.Close()
			}
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("it starts, or does not for another reason than %q: %v", why, err)
			}
		}
		kept := s.disks["a"].groups[2]
		delete(s.disks["a"].groups, 2)
		refused("the directory is missing")
		s.disks["a"].groups[2] = kept
		for _, s.groups = range []int{0, 3} {
			refused("the cluster was formed with 2")
		}
		s.groups = 2
		s.disks["a"] = newMemDisk(1)
		s.start("a")
		for number := range uint32(3) {
			awaitSimulated(t, "a votes in each group", func() bool {
				for _, m := range s.leaderOf(number).groupOf(number).Members() {
					if m.ID == "a#1" && m.Suffrage == raft.Voter {
						return true
					}
				}
				return false
			})
			if n := len(s.leaderOf(number).groupOf(number).Members()); n != 3 {
				t.Errorf("group %d has %d members", number, n)
			}
		}
	})
}

// awaitSimulated waits, in the time of the simulation, until something holds.
func awaitSimulated(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 600 {
		if is() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal(what + ": not within a minute")
}

// A running node that is removed leaves all groups, whichever it leads, and joins none of them until it is added.
func TestNodeLeavesAllGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateGroups(t, 3, "a", "b", "c", "d")
		defer s.stop()
		membersAre := func(want int) {
			t.Helper()
			for _, g := range s.nodes["a"].groups() {
				if got := len(g.Members()); got != want {
					t.Errorf("%d members of 4, want %d", got, want)
				}
			}
		}
		time.Sleep(10 * time.Second)
		if err := s.nodes["a"].Remove(t.Context(), "d"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		membersAre(3)
		if s.nodes["d"].Status().Healthy {
			t.Error("the removed node is healthy")
		}
		if err := s.nodes["a"].Remove(t.Context(), "d"); err == nil || !strings.Contains(err.Error(),
			"there is no member 'd'") {
			t.Errorf("removed twice: %v", err)
		}
		if err := s.nodes["a"].Add(t.Context(), "d", "d", true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		membersAre(4)
		s.awaitGroups()
	})
}

// A grant in a quiet group waits only once for the answer of a follower, although a message to each is held back then.
func TestGrantAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateGroups(t, 2, "a", "b", "c")
		defer s.stop()
		s.awaitGroups()
		const oneWay = 10 * time.Millisecond
		for _, from := range s.names {
			for _, to := range s.names {
				s.net.SetDelay(from, to, oneWay)
			}
		}
		time.Sleep(time.Minute) // until the leaders are spread
		leader := s.leaderOf(1)
		for i := range 10 {
			// ticks and repeated messages go out at full seconds
			time.Sleep(clock.UntilNext(time.Second) + time.Duration(500+7*i)*time.Millisecond)
			op, began := acquire("", simCapacity, 1), time.Now()
			op.Key = keyOf(1, s.groups, 0)
			if res := do(leader, op)[0]; res.Granted != 1 {
				t.Errorf("grant %d: %+v", i, res)
			}
			if took := time.Since(began); took >= 3*oneWay {
				t.Errorf("grant %d took %v, want less than %v", i, took, 3*oneWay)
			}
		}
	})
}
