package cluster

import (
	"testing"
	"testing/synctest"
	"time"
)

// The status names the last snapshot and its time, also after a restart.
func TestStatusOfTheLastSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a")
		defer s.stop()
		n := s.leader()
		if st := n.Status(); !st.LastSnapshot.IsZero() || st.LastSnapshotIndex != 0 {
			t.Errorf("before the first one: %d of %v", st.LastSnapshotIndex, st.LastSnapshot)
		}
		do(n, acquire("k", 10, 1))
		time.Sleep(time.Hour)
		taken := time.Now()
		if err := n.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		check := func(n *Node) {
			t.Helper()
			if st := n.Status(); !st.LastSnapshot.Equal(taken) || st.LastSnapshotIndex == 0 {
				t.Errorf("entry %d of %v, and it was taken at %v", st.LastSnapshotIndex, st.LastSnapshot, taken)
			}
		}
		check(n)
		s.kill("a")
		time.Sleep(time.Hour)
		check(s.start("a"))
	})
}
