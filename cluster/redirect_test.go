package cluster

import (
	"testing"
	"testing/synctest"
	"time"
)

// A node sends clients only to the leader that its Raft knows. What other nodes said of themselves earlier can be out
// of date: while leadership changes, two nodes would send a client to each other, until it gives up.
func TestClientsAreNotSentToAnEarlierLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		claimed := func(n *Node) bool { return n.statuses.ClaimedLeader(n.Group().ClusterID()) == leader.opt.Advertise }
		for _, n := range s.nodes {
			for n != leader && !claimed(n) {
				time.Sleep(10 * time.Millisecond)
			}
		}
		for _, from := range s.names {
			for _, to := range s.names {
				s.net.SetCut(from, to, from != to)
			}
		}
		seen := 0
		for range 1000 {
			time.Sleep(time.Millisecond)
			for _, n := range s.nodes {
				if address, _ := n.Group().Parts().Raft.LeaderWithID(); n == leader || address != "" || !claimed(n) {
					continue
				}
				seen++
				if _, client := n.Group().Leads(); client != "" {
					t.Fatalf("%s knows no leader, and sends clients to %s", n.opt.Node, client)
				}
			}
		}
		if seen == 0 {
			t.Error("no node was without a leader while it remembered one")
		}
	})
}
