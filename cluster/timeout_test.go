package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
)

// Every request has an answer or an error within the decide timeout, and one fiftieth of it for the timer, whatever
// fails.
func TestAnswersWithinDecideTimeout(t *testing.T) {
	hang := func(s *simulated, names ...string) (mend func()) {
		var release []func()
		for _, name := range names {
			release = append(release, s.disks[name].hang())
		}
		return func() {
			for _, r := range release {
				r()
			}
		}
	}
	faults := map[string]func(s *simulated, leader *Node) (mend func()){
		"the leader's disk hangs": func(s *simulated, leader *Node) func() { return hang(s, leader.opt.Node) },
		"all disks hang":          func(s *simulated, _ *Node) func() { return hang(s, s.names...) },
		"the leader and a follower are killed": func(s *simulated, leader *Node) func() {
			s.kill(s.others(leader)[0].opt.Node)
			s.kill(leader.opt.Node)
			return func() {}
		},
	}
	for name, inject := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, "a", "b", "c")
				defer s.stop()
				leader := s.leader()
				time.Sleep(3 * time.Second) // all vote
				defer inject(s, leader)()
				errors := 0
				for began := time.Now(); time.Since(began) < 5*time.Second; {
					for _, n := range s.nodes {
						if n == nil {
							continue
						}
						asked := time.Now()
						if do(n, plenty)[0].Status != engine.OK {
							errors++
						}
						if took := time.Since(asked); took > n.opt.DecideTimeout+n.opt.DecideTimeout/25 { // of simulated time
							t.Errorf("node %s answered after %v", n.opt.Node, took)
						}
						time.Sleep(10 * time.Millisecond)
					}
				}
				if errors == 0 {
					t.Error("the fault did no harm")
				}
			})
		})
	}
}
