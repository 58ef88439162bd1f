package cluster

import (
	"testing"
	"testing/synctest"
	"time"
)

// The answer to a message that was sent long ago renews no lease: another node may lead by then.
func TestLateAnswersRenewNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		for round := range 8 {
			leader := s.leader()
			disturb := func(late time.Duration, cut bool) {
				for _, other := range s.names {
					if other != leader.opt.Node {
						s.net.SetDelay(other, leader.opt.Node, late)
						s.net.SetCut(leader.opt.Node, other, cut)
					}
				}
			}
			late := leader.opt.Heartbeat * 4 / 5
			disturb(late, false)
			time.Sleep(time.Second + time.Duration(round)*13*time.Millisecond)
			disturb(late, true)
			for range 600 {
				time.Sleep(time.Millisecond)
				var leased []string
				for name, n := range s.nodes {
					if n.Group().OwnStatus().Leased {
						leased = append(leased, name)
					}
				}
				if len(leased) > 1 {
					t.Fatalf("round %d: %v have leases at the same time", round, leased)
				}
			}
			disturb(0, false)
			time.Sleep(time.Second)
			if s.leader() == leader {
				t.Fatalf("round %d: no other node leads: this test shows nothing", round)
			}
		}
	})
}
