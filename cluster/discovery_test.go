package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/internal/testsize"
)

func (s *simulated) listenToLog() *testlog.Log {
	l := &testlog.Log{}
	s.log = l.Logger()
	return l
}

func TestPeerListWithoutItself(t *testing.T) {
	_, err := Open(Options{Node: "a", Advertise: "a", Peers: []string{"b", "c"}, Disk: newMemDisk(0)})
	if err == nil || !strings.Contains(err.Error(), "--cluster-peers does not contain this node's own address, a") {
		t.Errorf("%v", err)
	}
}

// Fewer nodes than the number expected wait, and name the nodes that do not answer. When the last one is there, they
// form one cluster of all.
func TestClusterWaitsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		log := s.listenToLog()
		s.names = []string{"a", "b", "c"}
		defer s.stop()
		s.start("b")
		s.start("c")
		time.Sleep(time.Minute)
		if named := strings.Count(log.String(),
			"other nodes do not answer: check that they run"); named != 2 || !strings.Contains(log.String(),
			`addresses="a (`) {
			t.Errorf("within a minute, two nodes have named the third %d times:\n%s", named, log)
		}
		for _, n := range s.nodes {
			if n.Group().Status().State != clusterstatus.Starting {
				t.Errorf("%s is %s before all have met", n.id, n.Group().Status().State)
			}
		}
		if res := do(s.nodes["b"], acquire("k", 1, 1)); res[0].Status != engine.NoLeader {
			t.Errorf("status %d before there is a cluster", res[0].Status)
		}
		s.start("a")
		leader := s.leader()
		if got := len(leader.Group().Members()); got != 3 {
			t.Errorf("%d members", got)
		}
	})
}

func TestTwoNodesOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		log := s.listenToLog()
		s.names = []string{"a", "b", "c"}
		defer s.stop()
		for _, name := range s.names {
			s.start(name)
		}
		s.leader()
		// A fourth node, at another address, that has the name b too.
		s.names = append(s.names, "d")
		twin, err := Open(s.options("b", "d", newMemDisk(7)))
		if err != nil {
			t.Fatal(err)
		}
		defer twin.Close()
		time.Sleep(10 * time.Second)
		if !log.Has("in use by b, which is alive") || twin.Group().Status().State != clusterstatus.Starting {
			t.Errorf("the second b is %s; the log says:\n%s", twin.Group().Status().State, log)
		}
	})
}

// Two clusters that learn of each other stay apart.
func TestTwoClustersMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		other := simulate(t)
		log := other.listenToLog()
		other.net, other.names = s.net, []string{"x", "y", "z"}
		defer other.stop()
		for _, name := range other.names {
			other.start(name)
		}
		other.leader()
		id, otherID := s.nodes["a"].Group().Status().ClusterID, other.nodes["x"].Group().Status().ClusterID
		other.kill("z")
		other.names = []string{"x", "y", "z", "a"} // a node of the other cluster in its list
		other.start("z")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := other.nodes["x"].Group().Add(ctx, "a", "a", true); err == nil || !strings.Contains(err.Error(), id) {
			t.Errorf("adding a node of another cluster: %v", err)
		}
		time.Sleep(10 * time.Second)
		if got := s.nodes["a"].Group().Status().ClusterID; got != id || len(s.leader().Group().Members()) != 3 {
			t.Errorf("the first cluster has changed: %s %v", got, s.leader().Group().Members())
		}
		if got := other.nodes["z"].Group().Status().ClusterID; got != otherID || len(other.leader().Group().Members()) != 3 {
			t.Errorf("the second cluster has changed: %s", log)
		}
	})
}

// A member that is wiped and comes back under its old name is another member, and gets its vote once it has the state.
func TestWipedNodeJoinsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		do(s.nodes["a"], acquire("k", 10, 4))
		s.kill("c")
		s.disks["c"] = newMemDisk(1)
		s.start("c")
		time.Sleep(15 * time.Second)
		voters := 0
		for _, m := range s.leader().Group().Status().Members {
			if m.Voter {
				voters++
			}
		}
		if voters != 3 || s.nodes["c"].id != "c#1" {
			t.Errorf("%d voters, and c is %s", voters, s.nodes["c"].id)
		}
		if res := do(s.nodes["c"], acquire("k", 10, 7)); res[0].Allowed {
			t.Error("it grants what the others had granted")
		}
	})
}

func TestLastQuorumIsNotRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		ctx := t.Context()
		gone := "a"
		if s.leader().opt.Node == "a" {
			gone = "b"
		}
		s.kill(gone)
		leader := s.leader()
		for _, name := range s.names {
			if name == gone || name == leader.opt.Node {
				continue
			}
			err := leader.Group().Remove(ctx, name, false)
			remedy := fmt.Sprintf("not a majority, so the cluster would stop deciding. Start '%s' and wait until RAFT NODES has them as healthy, or RAFT REMOVE those first", gone)
			if err == nil || !strings.Contains(err.Error(), remedy) {
				t.Errorf("removing %s while %s is down: %v", name, gone, err)
			}
			if err := leader.Group().Transfer(ctx, gone); err == nil || !strings.Contains(err.Error(),
				"wait until RAFT NODES has it as healthy") {
				t.Errorf("transferring leadership to %s, which is down: %v", gone, err)
			}
		}
		if err := leader.Group().Remove(ctx, gone, false); err != nil {
			t.Errorf("removing the member that is down: %v", err)
		}
		if err := leader.Group().Remove(ctx, "nobody", false); err == nil || !strings.Contains(err.Error(), "RAFT NODES") {
			t.Errorf("removing nobody: %v", err)
		}
	})
}

// A leader whose disk hangs gives up, and the others decide within seconds.
func TestHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		first := s.leader()
		release := s.disks[first.opt.Node].hang()
		began := time.Now()
		for _, n := range s.nodes {
			if n != first {
				for do(n, acquire("k", 1000, 1))[0].Status != engine.OK {
				}
				break
			}
		}
		if took := time.Since(began); took > 5*time.Second { // of the simulation's time
			t.Errorf("nothing was decided for %v", took)
		}
		if !first.Group().Status().DiskStalled {
			t.Error("the status does not show it")
		}
		release()
		time.Sleep(5 * time.Second)
		if res := do(first, acquire("k", 1000, 1)); res[0].Status != engine.OK {
			t.Errorf("the node whose disk is back answers with status %d", res[0].Status)
		}
	})
}

// A cluster is formed when as many nodes have met as are expected, whichever they are; the others join it.
func TestClusterFormsOfThoseExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		s.names, s.expect = []string{"a", "b", "c", "d", "e"}, 3
		log := s.listenToLog()
		defer s.stop()
		s.start("c")
		s.start("e")
		time.Sleep(10 * time.Second)
		if !log.Has("waiting for other nodes") || !log.Has(`unanswered="a (`) {
			t.Errorf("the log does not say what it waits for:\n%s", log)
		}
		s.start("d")
		leader := s.leader()
		if got := len(leader.Group().Members()); got != 3 {
			t.Errorf("%d members", got)
		}
		s.start("a")
		s.start("b")
		time.Sleep(10 * time.Second)
		if got := voters(s.leader()); len(got) != 5 {
			t.Errorf("%v vote", got)
		}
	})
}

// Whichever links are cut and whichever nodes end while the nodes meet, they form at most one cluster, and they form it
// when all are well again.
func TestOneClusterIsFormed(t *testing.T) {
	for seed := range uint64(max(testsize.Pick(4, 16), *simFaults/200)) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			s := simulate(t)
			s.names = []string{"a", "b", "c", "d", "e"}[:4+r.IntN(2)]
			s.expect = 3
			defer s.stop()
			for _, name := range s.names {
				s.start(name)
			}
			ids := map[string]bool{}
			look := func() {
				for _, n := range s.nodes {
					if id := n.Group().Status().ClusterID; id != "" {
						ids[id] = true
					}
				}
			}
			for range 10 {
				name := s.names[r.IntN(len(s.names))]
				s.kill(name)
				for i := range s.names {
					for j := range i {
						cut := r.IntN(2) == 0
						s.net.SetCut(s.names[i], s.names[j], cut)
						s.net.SetCut(s.names[j], s.names[i], cut)
					}
				}
				time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
				s.start(name)
				time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
				look()
			}
			for _, from := range s.names {
				for _, to := range s.names {
					s.net.SetCut(from, to, false)
				}
			}
			s.leader()
			time.Sleep(20 * time.Second)
			look()
			if got := voters(s.leader()); len(ids) != 1 || len(got) != len(s.names) {
				t.Errorf("seed %d: clusters %v, of which one has %v", seed, ids, got)
			}
		})
	}
}
