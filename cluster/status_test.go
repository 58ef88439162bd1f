package cluster

import (
	"fmt"
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
		if st := n.Group().Status(); !st.LastSnapshot.IsZero() || st.LastSnapshotIndex != 0 {
			t.Errorf("before the first one: %d of %v", st.LastSnapshotIndex, st.LastSnapshot)
		}
		do(n, acquire("k", 10, 1))
		time.Sleep(time.Hour)
		taken := time.Now()
		if err := n.Group().Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		check := func(n *Node) {
			t.Helper()
			if st := n.Group().Status(); !st.LastSnapshot.Equal(taken) || st.LastSnapshotIndex == 0 {
				t.Errorf("entry %d of %v, and it was taken at %v", st.LastSnapshotIndex, st.LastSnapshot, taken)
			}
		}
		check(n)
		s.kill("a")
		time.Sleep(time.Hour)
		check(s.start("a"))
	})
}

// The status has what every node reports of its clients, and nothing of a node that is gone.
func TestStatusHasReportsOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		reports := func(n *Node) (pages string) {
			time.Sleep(10 * time.Second) // a round of reports, or until the last are too old
			for _, m := range n.Group().Status().Members {
				if m.Report != nil {
					pages += " " + m.ID + " " + m.Report.Admin
				}
			}
			return pages
		}
		s.leader()
		if got, want := reports(s.nodes["a"]), " a admin-a b admin-b c admin-c"; got != want {
			t.Errorf("reports of%s, want%s", got, want)
		}
		s.kill("c")
		if got, want := reports(s.nodes["a"]), " a admin-a b admin-b"; got != want {
			t.Errorf("without c: reports of%s, want%s", got, want)
		}
	})
}

// A node tells its counts while somebody looks at the page of another.
func TestStatusHasCountsWhileSomebodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		counts := func() (all string) {
			time.Sleep(10 * time.Second)
			for _, m := range s.nodes["a"].Group().Status().Members {
				if m.Report != nil && m.Report.Counts != nil {
					all += fmt.Sprintf(" %s %c", m.ID, rune(m.Report.Counts.Denials))
				}
			}
			return all
		}
		s.leader()
		if got := counts(); got != "" {
			t.Errorf("nobody looks, and there are counts of%s", got)
		}
		s.watched.Store(true)
		if got := counts(); got != " b b c c" {
			t.Errorf("somebody looks, and there are counts of%s", got)
		}
		s.kill("c")
		if got := counts(); got != " b b" {
			t.Errorf("without c there are counts of%s", got)
		}
	})
}

// Leaders returns the same number while the same nodes lead, and another number once a leader changes.
func TestLeaders(t *testing.T) {
	for _, groups := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			s := simulateGroups(t, groups, "a", "b", "c")
			defer s.stop()
			for number := range uint32(groups) {
				s.leaderOf(number)
			}
			time.Sleep(time.Minute) // until the leaders are spread
			before := map[string]uint64{}
			for range 100 {
				for name, n := range s.nodes {
					if was := before[name]; was != 0 && was != Leaders(n) || Leaders(n) == 0 {
						t.Fatalf("%d groups: %d after %d, and no leader has changed", groups, Leaders(n), was)
					}
					before[name] = Leaders(n)
				}
				time.Sleep(100 * time.Millisecond)
			}
			for number := range uint32(groups) {
				if err := s.leaderOf(number).groupOf(number).HandOver(t.Context()); err != nil {
					t.Fatal(err)
				}
				s.leaderOf(number)
				time.Sleep(time.Second)
				for name, n := range s.nodes {
					if Leaders(n) == before[name] {
						t.Errorf("%d groups: as before for %s, and another node leads group %d", groups, name, number)
					}
					before[name] = Leaders(n)
				}
			}
		})
	}
}
