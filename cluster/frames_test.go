package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/engine"
)

// Nodes that know Raft's messages as frames, and nodes that do not, form one cluster, while they are upgraded one by one, and back: each of
// them takes entries, votes, leads, and sends and takes a snapshot.
func TestUpgradeToFramesAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		s.names = []string{"a", "b", "c"}
		for _, name := range s.names {
			s.noFrames[name] = true
			s.start(name)
		}
		defer s.stop()
		s.leader()
		time.Sleep(3 * time.Second) // all vote
		granted := int64(0)
		decideEverywhere := func() {
			for name, n := range s.nodes {
				res := do(n, acquire("counted", 1000, 1))[0]
				if res.Status != engine.OK || !res.Allowed {
					t.Fatalf("%s, with old nodes %v: %+v", name, s.noFrames, res)
				}
				granted += res.Granted
			}
		}
		for _, isOld := range []bool{false, true} {
			for _, name := range s.names {
				s.kill(name)
				s.leader()
				decideEverywhere()
				leader := s.leader()
				for range raftnode.MinTrailing + 1 {
					do(leader, plenty)
				}
				if err := leader.Group().Parts().Raft.Snapshot().Error(); err != nil {
					t.Fatal(err)
				}
				s.noFrames[name], s.disks[name] = isOld, newMemDisk(s.disks[name].run+1)
				s.start(name)
				time.Sleep(3 * time.Second)
				if sent, err := s.disks[name].snapshots.List(); err != nil || len(sent) == 0 {
					t.Errorf("%s, with old nodes %v, was sent no snapshot (%v)", name, s.noFrames, err)
				}
				decideEverywhere()
				for _, next := range s.names {
					if err := s.leader().Group().Transfer(t.Context(), next); err != nil && s.leader().opt.Node != next {
						t.Errorf("%s does not lead, with old nodes %v: %v", next, s.noFrames, err)
					}
					time.Sleep(time.Second)
					decideEverywhere()
				}
			}
		}
		time.Sleep(time.Second)
		for name, n := range s.nodes {
			if res := do(n, acquire("counted", 1000, 1000-granted+1)); res[0].Allowed {
				t.Errorf("%s grants more than there is", name)
			}
		}
	})
}
