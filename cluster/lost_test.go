package cluster

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testlog"
)

// The log of a node that no longer leads gives the reason and the remedy.
func TestReasonOfALostLeadership(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(s *simulated, leader *Node) (mend func())
		want []string
	}{
		{"cut off", func(s *simulated, leader *Node) func() {
			w := world{simulated: s}
			w.cut(leader.opt.Node, true, true, true)
			return func() {}
		}, []string{"no majority of the 3 voters has answered for ", " for 2", "check the silent nodes and the network"}},
		{"another is elected", func(s *simulated, leader *Node) func() {
			other := s.others(leader)[0].opt.Node
			for _, m := range leader.Group().Parts().Raft.GetConfiguration().Configuration().Servers {
				if string(m.Address) == other {
					_ = leader.Group().Parts().Transport.TimeoutNow(m.ID, m.Address,
						&raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}},
						&raft.TimeoutNowResponse{})
				}
			}
			return func() {}
		}, []string{"the other nodes elected a leader, because they had heard nothing from this one for 300ms",
			"whether this machine is too busy"}},
		{"transferred", func(s *simulated, leader *Node) func() {
			if err := leader.Group().HandOver(context.Background()); err != nil {
				t.Error(err)
			}
			return func() {}
		}, []string{"leadership was transferred"}},
		{"hanging disk", func(s *simulated, leader *Node) func() {
			release := s.disks[leader.opt.Node].hang()
			go do(leader, acquire("k", 1000, 1))
			return release
		}, []string{"this node has given it up"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log *testlog.Log
				s := simulateWith(t, func(s *simulated) { log = s.listenToLog() }, "a", "b", "c")
				defer s.stop()
				leader := s.leader()
				time.Sleep(3 * time.Second)
				mend := c.lose(s, leader)
				time.Sleep(5 * time.Second)
				mend()
				time.Sleep(time.Second)
				_, line, _ := strings.Cut(log.String(), `msg="no longer the leader"`)
				line, _, _ = strings.Cut(line, "\n")
				for _, want := range c.want {
					if !strings.Contains(line, want) {
						t.Errorf("the reason lacks %q:\n%s\nin\n%s", want, line, log)
					}
				}
			})
		})
	}
}
