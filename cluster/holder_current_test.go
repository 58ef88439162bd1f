package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine"
)

// cutOff cuts or mends all links of a node.
func (s *simulated) cutOff(name string, cut bool) {
	for _, other := range s.names {
		s.net.SetCut(other, name, cut)
		s.net.SetCut(name, other, cut)
	}
}

// lentTo returns the tokens of a key that are lent to a process by the state of a node.
func lentTo(n, process *Node, key string) (tokens int64) {
	for i := range n.opt.Store.Shards() {
		n.opt.Store.ScanLoans(i, func(k, holder []byte, lent int64) {
			if string(k) == key && string(holder) == string(fsm.HolderName(process.id, process.Group().OwnStatus().Process)) {
				tokens += lent
			}
		})
	}
	return tokens
}

// The loans of processes that run are never voided: while they are silent or cut off for a while, when the leader
// changes and looks at all loans again, and when the loans of another process are voided. At every moment a process
// holds no more than the log has lent it.
func TestLoansOfRunningProcessesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		checks := 0
		spend := func(when string, span time.Duration) {
			t.Helper()
			for began := time.Now(); time.Since(began) < span; time.Sleep(20 * time.Millisecond) {
				for name, n := range s.nodes {
					key := "k" + name
					do(n, acquire(key, 100_000, 1))
					synctest.Wait()
					held := n.Group().Status().LentTokens
					if known := lentTo(s.leader(), n, key); held > known {
						t.Fatalf("%s: %s holds %d tokens, and the log has lent it %d", when, name, held, known)
					}
					if held > 0 {
						checks++
					}
				}
			}
		}
		voided := func() (tokens int64) {
			for _, n := range s.everStarted {
				tokens += n.Group().Status().VoidedTokens
			}
			return tokens
		}
		spend("at first", 5*time.Second)
		if err := leader.Group().Transfer(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		spend("under another leader", 5*time.Second)
		cut := others[0].opt.Node
		if s.leader() == others[0] {
			cut = others[1].opt.Node
		}
		s.cutOff(cut, true)
		spend("while one was cut off", 10*time.Second) // less than holderSpends
		s.cutOff(cut, false)
		spend("after one was cut off", 5*time.Second)
		if n := voided(); n != 0 {
			t.Errorf("%d tokens of running processes were voided", n)
		}
		synctest.Wait()
		held := lentTo(s.leader(), s.nodes[cut], "k"+cut)
		s.kill(cut)
		s.start(cut)
		spend("after one was replaced", 10*time.Second)
		if n := voided(); n != held || held == 0 {
			t.Errorf("%d tokens were voided, and the process that ended had %d", n, held)
		}
		if checks < 1000 {
			t.Errorf("tokens were held at %d moments only", checks)
		}
	})
}

// The machine of a leader wakes after an hour, in which another node has led. Its monotonic clock stood still, and it
// answers nothing under its old lease.
func TestLeaderThatWakesHasNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, _ := simulateHeld(t)
		defer s.stop()
		op := acquire("k", 500, 1)
		ask(leader, op, 1500, time.Millisecond)
		if res, atOnce := tryDo(leader, op); !atOnce || res.Status != engine.OK || res.Allowed {
			t.Fatalf("under its lease it answers %+v", res)
		}
		s.cutOff(leader.opt.Node, true)
		s.setSkew(leader.opt.Node, time.Hour)
		if res, atOnce := tryDo(leader, op); atOnce || res.Status == engine.OK {
			t.Errorf("after an hour it answers %+v", res)
		}
		s.cutOff(leader.opt.Node, false)
		s.eventually("decisions are taken again", func(n *Node) bool { return do(n, op)[0].Status == engine.OK })
	})
}

// A node denies from its own state while it hears from the leader. When it has not heard for a heartbeat timeout, a
// denial needs the log.
func TestDenialsNeedTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		n, op := others[0], acquire("k", 500, 1)
		ask(n, op, 1500, time.Millisecond)
		before := n.Group().Status().LocalDecisions
		if granted := ask(n, op, 100, time.Millisecond); granted != 0 || n.Group().Status().LocalDecisions != before+100 {
			t.Fatalf("%d granted, %d of 100 denied here", granted, n.Group().Status().LocalDecisions-before)
		}
		s.cutOff(n.opt.Node, true)
		if res := do(leader, engine.Op{Verb: engine.Delete, Key: op.Key}); res[0].Status != engine.OK {
			t.Fatal(res[0].Status)
		}
		if res, atOnce := tryDo(n, op); !atOnce || res.Status != engine.OK || res.Allowed {
			t.Errorf("it has heard from the leader a moment ago, and answers %+v", res)
		}
		time.Sleep(n.opt.Heartbeat)
		for range 20 {
			if res, _ := tryDo(n, op); res.Status == engine.OK {
				t.Fatalf("it is cut off, the key was deleted, and it answers %+v", res)
			}
			time.Sleep(n.opt.Heartbeat / 3)
		}
		s.cutOff(n.opt.Node, false)
		s.eventually("tokens are granted again", func(n *Node) bool { return do(n, op)[0].Allowed })
	})
}
