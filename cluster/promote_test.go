package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
)

// A promotion that failed is logged as failed, and tried again.
func TestFailedPromotionIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		defer s.stop()
		lines := s.listenToLog()
		s.names, s.expect = []string{"a", "b", "c"}, 3
		for _, name := range s.names {
			s.start(name)
		}
		leader := s.leader()
		s.names = append(s.names, "d")
		joined := s.start("d")
		suffrage := func() raft.ServerSuffrage {
			for _, server := range leader.Group().Members() {
				if server.ID == joined.id {
					return server.Suffrage
				}
			}
			return raft.Staging // it has not joined
		}
		for suffrage() != raft.Nonvoter {
			time.Sleep(time.Millisecond)
		}
		leader.Group().Parts().Changing <- struct{}{} // another change of members is under way
		time.Sleep(group.RPCTimeout + 5*time.Second)
		if suffrage() != raft.Nonvoter || !lines.Has("could not be given its vote") ||
			lines.Has("a member has the state and votes now") {
			t.Errorf("while it cannot be promoted it is a %v, and the log says that it votes: %t", suffrage(),
				lines.Has("a member has the state and votes now"))
		}
		<-leader.Group().Parts().Changing
		time.Sleep(group.RPCTimeout + 5*time.Second)
		if suffrage() != raft.Voter || !lines.Has("a member has the state and votes now") {
			t.Errorf("afterwards it is a %v", suffrage())
		}
	})
}
