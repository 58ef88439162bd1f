package cluster

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// decideAt asks a node for a token every few milliseconds of simulated time, until the returned function is called. Its
// entries are larger than any other message.
func decideAt(n *Node) (stop func()) {
	wide := plenty
	wide.Key = bytes.Repeat([]byte("k"), largestSmall)
	var stopped atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !stopped.Load() {
			do(n, wide)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return func() { stopped.Store(true); <-ended }
}

// largestSmall is the largest size of messages without entries.
const largestSmall = 600

// others returns all running nodes except one, in the order of their names.
func (s *simulated) others(than *Node) (others []*Node) {
	for _, name := range s.names {
		if n := s.nodes[name]; n != nil && n != than {
			others = append(others, n)
		}
	}
	return others
}

// After any absence of a node, the leader sends it the missing entries as soon as it is back.
func TestReturningNodeIsSentEntriesAtOnce(t *testing.T) {
	for _, away := range []time.Duration{time.Second, 3 * time.Second, 12 * time.Second, 25 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := simulate(t, "a", "b", "c")
			defer s.stop()
			leader := s.leader()
			time.Sleep(3 * time.Second) // all vote
			defer decideAt(leader)()
			name := s.others(leader)[0].opt.Node
			s.kill(name)
			time.Sleep(away)
			target, back := leader.Group().Status().AppliedIndex, time.Now()
			n := s.start(name)
			for n.Group().Status().AppliedIndex < target && time.Since(back) < 20*time.Second {
				time.Sleep(time.Millisecond)
			}
			if took := time.Since(back); took > 300*time.Millisecond { // of simulated time
				t.Errorf("away for %v, it has what it missed after %v", away, took)
			}
		})
	}
}

// A node whose Raft has ended says so, is not counted, and ends its process.
func TestNodeWithoutRaft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		time.Sleep(3 * time.Second)
		dead := s.others(leader)[0]
		if err := dead.Group().ShutDown(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		for _, m := range leader.Group().Status().Members {
			if isDead := m.ID == dead.opt.Node; m.Reachable == isDead || m.Healthy == isDead {
				t.Errorf("%s: reachable %v, healthy %v", m.ID, m.Reachable, m.Healthy)
			}
		}
		if st := dead.Group().Status(); st.State != clusterstatus.Gone || st.Healthy {
			t.Errorf("it is %s, healthy: %v", st.State, st.Healthy)
		}
		third := s.others(leader)[1].opt.Node
		if err := leader.Group().Remove(t.Context(), third, false); err == nil || !strings.Contains(err.Error(),
			"not a majority") {
			t.Errorf("the last node beside the leader whose Raft runs is removed: %v", err)
		}
		select {
		case err := <-dead.Failed():
			if !strings.Contains(err.Error(), "Raft") {
				t.Error(err)
			}
		default:
			t.Error("it goes on without Raft")
		}
	})
}

// A node reports that it is healthy once it has caught up with the leader, and no sooner; and only for a moment after
// it stops receiving entries, even if it still hears from a leader.
func TestHealthyWhenCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		time.Sleep(3 * time.Second)
		name := s.others(leader)[0].opt.Node
		s.kill(name)
		stop := decideAt(leader)
		time.Sleep(5 * time.Second)
		stop()
		s.net.SetLargest(leader.opt.Node, name, largestSmall) // heartbeats pass, entries don't
		target := leader.Group().Status().AppliedIndex
		n := s.start(name)
		for range 500 {
			if n.Group().Status().Healthy && n.Group().Status().AppliedIndex < target {
				t.Fatalf("healthy with %d entries of %d", n.Group().Status().AppliedIndex, target)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n.Group().Status().Healthy || n.Group().OwnStatus().Leader == "" {
			t.Errorf("healthy: %v; leader: %s", n.Group().Status().Healthy, n.Group().OwnStatus().Leader)
		}
		s.net.SetLargest(leader.opt.Node, name, 0)
		time.Sleep(3 * time.Second)
		for _, n := range s.nodes {
			if st := n.Group().Status(); !st.Healthy {
				t.Errorf("%s is not healthy after 3 s: %+v", n.opt.Node, st)
			}
		}
		defer decideAt(leader)()
		s.net.SetLargest(leader.opt.Node, name, largestSmall)
		time.Sleep(5 * time.Second)
		if n.Group().Status().Healthy {
			t.Error("healthy although it gets nothing any more")
		}
	})
}

// A leader whose entries are committed too late, but whose heartbeats arrive, gives way to another and does not come
// back soon. When all nodes are as slow, leadership does not go round.
func TestSlowLeaderWithdraws(t *testing.T) {
	slowDisk := func(delay time.Duration, all bool) func(s *simulated, leader *Node) {
		return func(s *simulated, leader *Node) {
			for _, name := range s.names {
				if all || name == leader.opt.Node {
					s.disks[name].SetDelay(delay)
				}
			}
		}
	}
	for _, c := range []struct {
		name     string
		strike   func(s *simulated, leader *Node)
		replaced bool
	}{
		{"disk takes 0.3 s", slowDisk(300*time.Millisecond, false), false},
		{"disk takes 0.9 s", slowDisk(900*time.Millisecond, false), true},
		{"disk takes 1.3 s", slowDisk(1300*time.Millisecond, false), true},
		{"disk takes 1.8 s", slowDisk(1800*time.Millisecond, false), true},
		{"all disks take 0.9 s", slowDisk(900*time.Millisecond, true), false},
		{"large messages are lost", func(s *simulated, leader *Node) {
			for _, n := range s.others(leader) {
				s.net.SetLargest(leader.opt.Node, n.opt.Node, largestSmall)
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, "a", "b", "c")
				defer s.stop()
				log := s.listenToLog()
				leader := s.leader()
				time.Sleep(5 * time.Second)
				for _, n := range s.nodes {
					for range 2 {
						defer decideAt(n)()
					}
				}
				time.Sleep(time.Second)
				other := s.others(leader)[0]
				c.strike(s, leader)
				began := time.Now()
				time.Sleep(5 * time.Second)
				changes := int64(0)
				for time.Since(began) < 15*time.Second {
					time.Sleep(50 * time.Millisecond)
					leads, _ := leader.Group().Leads()
					isReplaced := !leads
					if isReplaced != c.replaced {
						t.Fatalf("after %v: replaced: %v\n%s", time.Since(began), isReplaced, log)
					}
					if res := do(other, plenty); c.replaced && res[0].Status != engine.OK {
						t.Fatalf("after %v: status %d\n%s", time.Since(began), res[0].Status, log)
					}
				}
				for _, n := range s.nodes {
					changes += n.Group().Status().LeaderChanges
				}
				if changes > 2 {
					t.Errorf("leadership moved %d times", changes-1)
				}
			})
		})
	}
}

// A follower has not applied an entry while its state machine is still busy with it, although Raft's index says so.
func TestBarrierWaitsForTheStateMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		n := s.others(leader)[0]
		do(leader, acquire("k", 100, 1))
		time.Sleep(time.Second)
		synctest.Wait()
		hold := make(chan struct{})
		machine := n.Group().Parts().Machine
		machine.OwnID, machine.TakeCalls = leader.Group().Parts().Machine.OwnID, func(uint64) []*call.Call {
			<-hold
			return nil
		}
		do(leader, acquire("k", 100, 1))
		acknowledged := leader.Group().Status().AppliedIndex

		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := n.Group().Barrier(ctx); err == nil || n.Group().Status().AppliedIndex >= acknowledged ||
			n.Group().Status().Healthy {
			t.Errorf("Barrier returned %v and the status is %+v, but an acknowledged entry is not applied", err,
				n.Group().Status())
		}
		close(hold)
		if err := n.Group().Barrier(t.Context()); err != nil || n.Group().Status().AppliedIndex < acknowledged {
			t.Errorf("Barrier returned %v, applied %d of %d", err, n.Group().Status().AppliedIndex, acknowledged)
		}
	})
}
