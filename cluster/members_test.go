package cluster

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// voters returns the names of the members that vote.
func voters(n *Node) (names []string) {
	for _, m := range n.Group().Status().Members {
		if m.Voter {
			names = append(names, m.ID)
		}
	}
	slices.Sort(names)
	return names
}

// A leader that is to be removed hands over first, and the next leader removes it. Its process goes on, and stays away,
// also when it is started again, until it is added: then its vote counts when another node dies. The removal is asked
// of the leader itself and of another node.
func TestLeaderIsRemoved(t *testing.T) {
	for _, names := range [][]string{{"a", "b"}, {"a", "b", "c"}} {
		for _, askLeader := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, names...)
				defer s.stop()
				log := s.listenToLog()
				leader := s.leader()
				time.Sleep(3 * time.Second)
				asked := leader
				if !askLeader {
					asked = s.others(leader)[0]
				}
				if err := asked.Group().Remove(t.Context(), leader.opt.Node, false); err != nil {
					t.Fatalf("%v nodes, asked of the leader: %v: %v", len(names), askLeader, err)
				}
				s.staysAway(leader.opt.Node)
				s.kill(leader.opt.Node)
				leader = s.start(leader.opt.Node)
				s.staysAway(leader.opt.Node)
				if !strings.Contains(log.String(), "RAFT REMOVE has removed this node") {
					t.Errorf("the removed node does not say so:\n%s", log)
				}
				if err := s.leader().Add(t.Context(), leader.opt.Node, leader.opt.Advertise, true); err != nil {
					t.Error(err)
				}
				time.Sleep(15 * time.Second)
				if got := voters(s.leader()); !slices.Equal(got, names) {
					t.Errorf("%v vote after the removed node was added again\n%s", got, log)
				}
				st := leader.Group().Status()
				if st.State == clusterstatus.Gone || !st.Healthy || st.AppliedIndex < s.leader().Group().Status().AppliedIndex {
					t.Errorf("the removed node is %s, healthy: %v, applied %d", st.State, st.Healthy, st.AppliedIndex)
				}
				if len(names) == 3 {
					s.kill(s.others(leader)[0].opt.Node)
					time.Sleep(2 * time.Second)
				}
				for _, n := range s.nodes {
					if res := do(n, acquire("k", 10, 1)); res[0].Status != engine.OK {
						t.Errorf("%s answers with status %d", n.opt.Node, res[0].Status)
					}
				}
			})
		}
	}
}

// A follower that was started again votes for nobody while a lease that it confirmed may hold.
func TestRestartedFollowerVotesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		time.Sleep(3 * time.Second)
		voter, candidate := s.others(leader)[0].opt.Node, s.others(leader)[1]
		s.net.SetCut(leader.opt.Node, voter, true)
		s.net.SetCut(voter, leader.opt.Node, true)
		time.Sleep(time.Second)
		ask := func() bool {
			n := s.nodes[voter]
			q := raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte(candidate.id),
				Addr: []byte(candidate.opt.Advertise)},
				Term: n.Group().Status().Term + 1, LastLogIndex: n.Group().Status().LastLogIndex + 100,
				LastLogTerm: n.Group().Status().Term + 1, LeadershipTransfer: true}
			var a raft.RequestVoteResponse
			if err := candidate.Group().Parts().Transport.RequestVote(n.id, raft.ServerAddress(voter), &q, &a); err != nil {
				t.Fatal(err)
			}
			return a.Granted
		}
		s.kill(voter)
		s.start(voter)
		if ask() {
			t.Error("it votes at once")
		}
		time.Sleep(candidate.opt.Heartbeat)
		if !ask() {
			t.Error("it does not vote later either")
		}
	})
}

// A leader that offers leadership to nodes that cannot take it goes on deciding.
func TestTransferToNodeThatCannotLead(t *testing.T) {
	for name, strike := range map[string]func(s *simulated, leader *Node, node string){
		"dead": func(s *simulated, _ *Node, node string) { s.kill(node) },
		"gets no entries": func(s *simulated, leader *Node, node string) {
			s.net.SetLargest(leader.opt.Node, node, largestSmall)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, "a", "b", "c")
				defer s.stop()
				leader := s.leader()
				time.Sleep(3 * time.Second)
				target := s.others(leader)[0].opt.Node
				defer decideAt(leader)()
				strike(s, leader, target)
				time.Sleep(time.Second)
				for range 3 {
					_ = leader.Group().Transfer(t.Context(), target)
				}
				time.Sleep(5 * time.Second)
				for range 20 {
					res := do(leader, plenty)
					if leads, _ := leader.Group().Leads(); !leads || res[0].Status != engine.OK {
						t.Fatalf("status %d", res[0].Status)
					}
					time.Sleep(100 * time.Millisecond)
				}
				if err := leader.Group().Transfer(t.Context(), ""); err != nil {
					t.Errorf("to the one that can: %v", err)
				}
			})
		})
	}
}

// staysAway checks that a removed node that runs is no member, is not healthy, and does not disturb the others.
func (s *simulated) staysAway(removed string) {
	s.t.Helper()
	leader := s.leader()
	time.Sleep(15 * time.Second)
	if slices.Contains(voters(leader), removed) || len(leader.Group().Members()) != len(s.names)-1 {
		s.t.Errorf("the removed node is a member again: %v", leader.Group().Members())
	}
	if now := s.leader(); now != leader {
		s.t.Errorf("%s leads now, in place of %s", now.opt.Node, leader.opt.Node)
	}
	if s.nodes[removed].Status().Healthy {
		s.t.Error("the removed node is healthy")
	}
}

// A follower that is removed while it is cut off does not learn of its removal from its log. It stays away when it can
// reach the leader again, and joins with an empty directory.
func TestRemovedWhileCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"a", "b", "c"}
		s := simulate(t, names...)
		defer s.stop()
		leader := s.leader()
		time.Sleep(3 * time.Second)
		lost := s.others(leader)[0]
		cut := func(isCut bool) {
			for _, other := range names {
				s.net.SetCut(other, lost.opt.Node, isCut)
				s.net.SetCut(lost.opt.Node, other, isCut)
			}
		}
		cut(true)
		if err := leader.Group().Remove(t.Context(), lost.opt.Node, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		cut(false)
		s.staysAway(lost.opt.Node)
		s.kill(lost.opt.Node)
		s.disks[lost.opt.Node] = newMemDisk(1)
		lost = s.start(lost.opt.Node)
		time.Sleep(15 * time.Second)
		if got := voters(s.leader()); !slices.Equal(got, names) {
			t.Errorf("%v vote after the removed node has come with an empty directory", got)
		}
		if st := lost.Group().Status(); !st.Healthy {
			t.Errorf("the removed node is %s and not healthy", st.State)
		}
	})
}
