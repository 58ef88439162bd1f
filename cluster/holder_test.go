package cluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/group/loans"
	"github.com/stintdb/stint/engine"
)

// simulateHeld starts a cluster of three whose nodes hold tokens. It returns the leader and the others.
func simulateHeld(t *testing.T) (s *simulated, leader *Node, others []*Node) {
	t.Helper()
	s = simulate(t, "a", "b", "c")
	s.hold(time.Second)
	leader = s.leader()
	for _, name := range s.names {
		if n := s.nodes[name]; n != leader {
			others = append(others, n)
		}
	}
	return s, leader, others
}

// hold makes all nodes hold tokens, now and after their next start, and waits until they may.
func (s *simulated) hold(ahead time.Duration) {
	s.t.Helper()
	s.ahead = ahead
	for _, n := range s.nodes {
		n.Group().SetAhead(ahead)
	}
	s.eventually("the log knows every process", func(n *Node) bool {
		return n.Group().Cluster().Processes[n.id] == n.Group().OwnStatus().Process
	})
	time.Sleep(time.Second) // each notes that it is up to date
}

// ask takes a token again and again, with a pause in between, and returns the number granted.
func ask(n *Node, op engine.Op, times int, pause time.Duration) (granted int64) {
	for range times {
		if res := do(n, op); res[0].Status == engine.OK {
			granted += res[0].Granted
		}
		time.Sleep(pause)
	}
	return granted
}

func lent(n *Node, key string) int64 {
	return do(n, engine.Op{Verb: engine.Look, Key: []byte(key)})[0].Lent
}

func TestHotKeyIsDecidedWhereItIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		for _, n := range append(others, leader) {
			before, entries := n.Group().Status().LocalDecisions, leader.Group().Status().Entries
			op := acquire("k"+n.opt.Node, 100_000, 1)
			const times = 2000
			if granted := ask(n, op, times, time.Millisecond); granted != times {
				t.Errorf("%s: %d of %d granted", n.opt.Node, granted, times)
			}
			local := n.Group().Status().LocalDecisions - before
			if local < times*8/10 {
				t.Errorf("%s: %d of %d decided locally, with %d entries", n.opt.Node, local, times,
					leader.Group().Status().Entries-entries)
			}
			t.Logf("%s: %d of %d local, %d entries", n.opt.Node, local, times, leader.Group().Status().Entries-entries)
			held := n.Group().Status().LentTokens
			if res := do(n, engine.Op{Verb: engine.Look, Key: op.Key}); held == 0 || res[0].Lent < held ||
				res[0].Remaining > 100_000-times-held {
				t.Errorf("%s holds %d, and the log shows %+v", n.opt.Node, held, res[0])
			}
			time.Sleep(time.Second)
			if held, res := n.Group().Status().LentTokens, do(n, engine.Op{Verb: engine.Look, Key: op.Key}); held != 0 ||
				res[0].Lent != 0 || res[0].Remaining != 100_000-times {
				t.Errorf("%s: after a second without requests it holds %d, and the log shows %+v", n.opt.Node, held, res[0])
			}
		}
	})
}

func TestLimitHoldsForAllHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := simulateHeld(t)
		defer s.stop()
		const capacity = 3000
		done := make(chan int64)
		for _, n := range s.nodes {
			go func() { done <- ask(n, acquire("k", capacity, 1), 2000, time.Millisecond) }()
		}
		granted := int64(0)
		for range s.nodes {
			granted += <-done
		}
		if granted > capacity || granted < capacity-2 {
			t.Errorf("%d granted of %d", granted, capacity)
		}
	})
}

func TestLoansOfEndedProcessesAreVoided(t *testing.T) {
	for _, wiped := range []bool{false, true} {
		t.Run(fmt.Sprintf("wiped %v", wiped), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, leader, others := simulateHeld(t)
				defer s.stop()
				name := others[0].opt.Node
				ask(others[0], acquire("k", 10_000, 1), 100, time.Millisecond)
				held := lent(leader, "k")
				if held == 0 {
					t.Fatal("nothing is lent")
				}
				s.kill(name)
				time.Sleep(10 * time.Second)
				if now := lent(leader, "k"); now != held {
					t.Errorf("%d of %d tokens are lent to a process that may come back", now, held)
				}
				if wiped {
					s.disks[name] = newMemDisk(s.disks[name].run + 1)
				}
				s.start(name)
				if wiped {
					time.Sleep(loans.VoidRemovedAfter / 2)
					if now := lent(leader, "k"); now != held {
						t.Errorf("%d of %d tokens are lent to a process that was removed a moment ago", now, held)
					}
					time.Sleep(loans.VoidRemovedAfter)
				}
				time.Sleep(10 * time.Second)
				if now := lent(leader, "k"); now != 0 {
					t.Errorf("%d tokens are lent to a process that has ended", now)
				}
				if voided := leader.Group().Status().VoidedTokens; voided != held {
					t.Errorf("%d tokens voided of %d", voided, held)
				}
			})
		})
	}
}

func TestRefundOnALentKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, others := simulateHeld(t)
		defer s.stop()
		n := others[0]
		granted := ask(n, acquire("k", 10_000, 1), 100, time.Millisecond)
		held := n.Group().Status().LentTokens
		res := do(n, engine.Op{Verb: engine.Refund, Key: []byte("k"), Tokens: 1})
		if res[0].Status != engine.OK || res[0].Granted != 1 || n.Group().Status().LentTokens != held+1 {
			t.Errorf("a refund: %+v, %d held before and %d after", res[0], held, n.Group().Status().LentTokens)
		}
		time.Sleep(time.Second)
		if res := do(n, engine.Op{Verb: engine.Look, Key: []byte("k")}); res[0].Lent != 0 ||
			res[0].Remaining != 10_000-granted+1 {
			t.Errorf("after all %d were granted and one refunded: %+v", granted, res[0])
		}
	})
}

func TestOtherLimitOfALentKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, others := simulateHeld(t)
		defer s.stop()
		n := others[0]
		granted := ask(n, acquire("k", 10_000, 1), 100, time.Millisecond)
		granted += ask(n, acquire("k", 500, 1), 1000, time.Millisecond)
		if granted > 500 {
			t.Errorf("%d granted, and the limit is 500", granted)
		}
		if granted < 490 {
			t.Errorf("%d granted of 500", granted)
		}
	})
}

func TestEverythingGoesBackBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		for _, n := range []*Node{others[0], leader} {
			for i := range 20 {
				ask(n, acquire(fmt.Sprint("k", i), 10_000, 1), 20, 0)
			}
			if n.Group().Status().LentTokens == 0 {
				t.Fatalf("%s holds nothing", n.opt.Node)
			}
			if err := n.Group().HandOver(t.Context()); err != nil {
				t.Error(err)
			}
			s.kill(n.opt.Node)
		}
		s.start(leader.opt.Node)
		n := s.leader()
		for i := range 20 {
			if res := do(n, engine.Op{Verb: engine.Look, Key: fmt.Append(nil, "k", i)}); res[0].Lent != 0 ||
				res[0].Remaining != 10_000-40 {
				t.Errorf("key %d: %+v", i, res[0])
			}
		}
	})
}

func TestNothingIsHeldWhenItIsTurnedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		n := others[0]
		ask(n, acquire("k", 10_000, 1), 100, time.Millisecond)
		n.Group().SetAhead(0)
		before := n.Group().Status().LocalDecisions
		ask(n, acquire("k", 10_000, 1), 100, time.Millisecond)
		time.Sleep(time.Second)
		if n.Group().Status().HeldKeys != 0 || lent(leader, "k") != 0 || n.Group().Status().LocalDecisions != before {
			t.Errorf("%d keys held, %d tokens lent, %d decisions", n.Group().Status().HeldKeys, lent(leader, "k"),
				n.Group().Status().LocalDecisions-before)
		}
	})
}

// The keys of a strict policy, and batches that must not be divided, are decided in the log.
func TestStrictKeysAreNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		n, op := others[0], acquire("strict:1", 10_000, 1)
		do(n, engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Options: engine.Strict,
			Parts: []engine.Op{{Key: []byte("strict:{}"), Limit: op.Limit}}})
		time.Sleep(time.Second)
		ask(n, op, 100, time.Millisecond)
		if lent(leader, "strict:1") != 0 || n.Group().Status().HeldKeys != 0 {
			t.Errorf("%d tokens of a strict key are lent", lent(leader, "strict:1"))
		}
	})
}

func TestSeveralHeldKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		n := others[0]
		both := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{acquire("x", 10_000, 1),
			acquire("y", 20_000, 1)}}
		granted := ask(n, both, 500, time.Millisecond)
		if local := n.Group().Status().LocalDecisions; granted != 500 || local < 400 {
			t.Errorf("%d granted, %d decisions here", granted, local)
		}
		time.Sleep(time.Second)
		for key, want := range map[string]int64{"x": 9500, "y": 19500} {
			if res := do(leader, engine.Op{Verb: engine.Look, Key: []byte(key)}); res[0].Remaining != want {
				t.Errorf("%s: %d left, want %d", key, res[0].Remaining, want)
			}
		}
	})
}

// A process that is cut off grants from its tokens, and stops and forgets them long before they would be voided if it
// was removed.
func TestProcessThatIsCutOffStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		n := others[0]
		ask(n, acquire("k", 100_000, 1), 500, time.Millisecond)
		for _, other := range s.names {
			s.net.SetCut(other, n.opt.Node, true)
			s.net.SetCut(n.opt.Node, other, true)
		}
		grantedAt := func() bool {
			res, _ := tryDo(n, acquire("k", 100_000, 1))
			return res.Status == engine.OK && res.Allowed
		}
		if !grantedAt() {
			t.Error("it grants nothing although it holds tokens")
		}
		removed := make(chan error, 1)
		// the removal takes longer than the silence after which tokens go back
		go func() { removed <- leader.Group().Remove(t.Context(), n.opt.Node, false) }()
		last, began := time.Duration(0), time.Now()
		for time.Since(began) < 2*loans.VoidRemovedAfter {
			if grantedAt() {
				last = time.Since(began)
			}
			time.Sleep(200 * time.Millisecond) // less than the silence after which it would give them back
			if held := n.Group().Status().LentTokens; time.Since(began) > loans.VoidRemovedAfter/2 && held > 0 {
				t.Fatalf("after %v it still holds %d tokens", time.Since(began), held)
			}
		}
		if err := <-removed; err != nil {
			t.Error(err)
		}
		if last < time.Second || last > loans.VoidRemovedAfter/2 {
			t.Errorf("its last grant was %v after it was cut off", last)
		}
		if now := lent(leader, "k"); now != 0 || leader.Group().Status().VoidedTokens == 0 {
			t.Errorf("%d tokens are still lent to it, %d were voided", now, leader.Group().Status().VoidedTokens)
		}
	})
}
