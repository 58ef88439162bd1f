package cluster

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
)

// A node that joins gets the state, not a log that is much longer than the state, and the log says how long that took.
// Nodes that were there before go on with their own logs.
func TestLongLogIsNotSentToANewNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		defer s.stop()
		lines := s.listenToLog()
		s.names, s.expect = []string{"a", "b", "c"}, 3
		for _, name := range s.names {
			s.start(name)
		}
		leader := s.leader()
		const calls, keyBytes = 3000, 200
		for i := range calls {
			if got := do(leader, acquire(fmt.Sprint(i%10, strings.Repeat("k", keyBytes)), 10_000, 1))[0]; got.Status != engine.OK {
				t.Fatalf("status %d", got.Status)
			}
		}
		s.names = append(s.names, "d")
		joined := s.start("d")
		for tries := 0; (!joined.Group().Status().Healthy || !lines.Has("after=")) && tries < 100; tries++ {
			time.Sleep(100 * time.Millisecond)
		}
		if first, err := s.disks["d"].Logs().FirstIndex(); err != nil || first < calls/2 {
			t.Errorf("the log of the new node begins at entry %d of %d, %v: it was sent the log", first, calls, err)
		}
		for _, name := range []string{"a", "b", "c"} {
			all, err := s.disks[name].Snapshots().List()
			if err != nil || (len(all) > 0) != (s.nodes[name] == leader) {
				t.Errorf("%s has %d snapshots, %v", name, len(all), err)
			}
		}
		if !lines.Has("after=") {
			t.Error("the log does not say how long the node took to join")
		}
	})
}
