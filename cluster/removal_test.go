package cluster

import (
	"testing"
	"testing/synctest"
	"time"
)

// A removal that has ended half-way is ended by the leader of group 0: here only group 0 has removed the node.
func TestRemovalsAreEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateGroups(t, 2, "a", "b", "c", "d")
		defer s.stop()
		time.Sleep(10 * time.Second)
		a := s.nodes["a"]
		if err := a.first.Remove(t.Context(), "d", false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		for number, g := range a.groups() {
			if got := len(g.Members()); got != 3 {
				t.Errorf("group %d has %d members, want 3", number, got)
			}
		}
	})
}
