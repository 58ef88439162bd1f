package cluster

import (
	"testing"
	"testing/synctest"
	"time"
)

// A late answer does not replace one that was asked for after it.
func TestLateStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		time.Sleep(3 * time.Second)
		other := s.others(leader)[0]
		ask := func() { go other.statuses.FetchAll(t.Context(), time.Minute) }
		to, from := leader.opt.Node, other.opt.Node
		s.net.SetDelay(from, to, 10*time.Millisecond)
		ask()
		time.Sleep(15 * time.Millisecond) // the nodes have greeted each other
		s.net.SetDelay(to, from, 200*time.Millisecond)
		time.Sleep(10 * time.Millisecond) // the answer is on its way
		s.net.SetDelay(to, from, 0)
		s.net.SetDelay(from, to, 0)
		do(leader, acquire("k", 100, 1))
		ask()
		time.Sleep(time.Millisecond)
		applied := leader.Group().Status().AppliedIndex
		for range 300 {
			if r, _ := other.statuses.Last(leader.id); r.Applied < applied {
				t.Fatalf("entry %d was applied, and is no longer: %d is", applied, r.Applied)
			}
			time.Sleep(time.Millisecond)
		}
	})
}
