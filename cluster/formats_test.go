package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

// forceIsNew is the list of additions of a version 2 that added an option.
var forceIsNew = []fsm.Addition{{Version: 2, Name: "the option FORCE", IsUsed: func(op *engine.Op) bool {
	return op.Options&engine.Force != 0
}}}

func force(key string) engine.Op {
	op := acquire(key, 10, 1)
	op.Options = engine.Force
	return op
}

// mixed starts a cluster of three in which c states an older version and another node leads.
func mixed(t *testing.T) (s *simulated, leader *Node) {
	s = simulate(t)
	s.known["a"], s.known["b"], s.known["c"] = forceIsNew, forceIsNew, []fsm.Addition{}
	return s, s.mixed()
}

// mixed starts a, b and c, and moves leadership away from c.
func (s *simulated) mixed() (leader *Node) {
	s.names = []string{"a", "b", "c"}
	for _, name := range s.names {
		s.start(name)
	}
	leader = s.leader()
	for leader.opt.Node == "c" {
		if err := leader.Group().Transfer(s.t.Context(), "a"); err != nil {
			s.t.Log(err)
		}
		time.Sleep(time.Second)
		leader = s.leader()
	}
	s.eventually("the members have announced themselves", func(n *Node) bool {
		return len(n.Group().Cluster().Members) == 3
	})
	return leader
}

// upgrade starts the last member of an older version again, and waits until the cluster uses the newest one.
func (s *simulated) upgrade(name string) {
	s.kill(name)
	delete(s.known, name)
	s.start(name)
	s.eventually("the version is raised", func(n *Node) bool {
		return n.Group().Status().FormatVersion == uint32(fsm.NewFormats(fsm.Additions).Newest)
	})
}

// eventually waits until something holds on all nodes, once they have done all that they do at this moment.
func (s *simulated) eventually(what string, holds func(n *Node) bool) {
	s.t.Helper()
	for range 3000 {
		synctest.Wait()
		ready := true
		for _, n := range s.nodes {
			ready = ready && holds(n)
		}
		if ready {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("not within half a minute: %s", what)
}

func (s *simulated) mustNotFail() {
	s.t.Helper()
	for name, n := range s.nodes {
		select {
		case err := <-n.Failed():
			s.t.Errorf("%s has ended: %v", name, err)
		default:
		}
	}
}

func statusesOf(results []engine.Result) (all []engine.Status) {
	for _, res := range results {
		all = append(all, res.Status)
	}
	return all
}

func TestNewerOperationWaitsForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader := mixed(t)
		defer s.stop()
		time.Sleep(5 * time.Second) // in which the version could be raised
		for name, n := range s.nodes {
			if st := n.Group().Status(); st.FormatVersion != 1 {
				t.Errorf("%s: the cluster is at version %d", name, st.FormatVersion)
			}
			if got := do(n, force("k"))[0].Status; got != engine.TooNew { // c forwards it, and the leader refuses
				t.Errorf("%s: the newer operation is answered with status %d", name, got)
			}
			if name == "c" {
				continue
			}
			if err := n.Group().TooNew([]engine.Op{acquire("k", 10, 1), force("k")}); !strings.Contains(err.Error(),
				"the option FORCE needs format version 2, and the member 'c' knows version 1: nothing was taken; upgrade it") {
				t.Errorf("%s: %v", name, err)
			}
			if got := statusesOf(do(n, acquire("k", 10, 1), force("k"), acquire("other", 10, 1))); !slices.Equal(got,
				[]engine.Status{engine.OK, engine.TooNew, engine.OK}) {
				t.Errorf("%s: a pipeline is answered with %v", name, got)
			}
			b := &engine.Batch{Ops: []engine.Op{acquire("k", 10, 1), force("k")}, Results: make([]engine.Result, 2),
				Atomic: true}
			if !n.Group().Decide(b) || b.Results[0].Status != engine.TooNew || b.Results[1].Status != engine.TooNew {
				t.Errorf("%s: a transaction is answered with %v", name, statusesOf(b.Results))
			}
		}
		if res := do(leader, acquire("k", 10, 0)); res[0].Remaining != 8 {
			t.Errorf("%d tokens are left of 10 after two grants", res[0].Remaining)
		}
		s.mustNotFail()

		s.kill("c")
		s.known["c"] = forceIsNew
		s.start("c")
		s.eventually("the version is raised", func(n *Node) bool { return n.Group().Status().FormatVersion == 2 })
		for name, n := range s.nodes {
			if res := do(n, force("k")); res[0].Status != engine.OK || !res[0].Allowed {
				t.Errorf("%s: the newer operation is answered with %+v", name, res[0])
			}
			for _, m := range n.Group().Status().Members {
				if m.FormatVersion != 2 {
					t.Errorf("%s: %s is shown with version %d", name, m.ID, m.FormatVersion)
				}
			}
		}
		s.mustNotFail()
	})
}

// A new cluster begins with the newest version that all of its first members know.
func TestNewClusterBeginsWithTheNewestVersion(t *testing.T) {
	for name, known := range map[string][]fsm.Addition{"all are new": forceIsNew, "one is older": {}} {
		synctest.Test(t, func(t *testing.T) {
			s := simulate(t)
			defer s.stop()
			s.names = []string{"a", "b", "c"}
			s.known["a"], s.known["b"], s.known["c"] = forceIsNew, forceIsNew, known
			for _, name := range s.names {
				s.start(name)
			}
			want := fsm.FormatVersion(1)
			if len(known) > 0 {
				want = 2
			}
			s.eventually("there is a cluster", func(n *Node) bool { return n.Group().ClusterID() != "" })
			for _, n := range s.nodes {
				if c := n.Group().Cluster(); c.ClusterID != "" && c.Version() != want {
					t.Errorf("%s: %s begins with version %d", name, n.opt.Node, c.Version())
				}
			}
			s.mustNotFail()
		})
	}
}

// Once the cluster uses a version, an older node neither gets its log nor becomes a member, and runs on without a
// leader.
func TestOlderNodeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mixed(t)
		defer s.stop()
		s.kill("c")
		s.known["c"] = forceIsNew
		s.start("c")
		s.eventually("the version is raised", func(n *Node) bool { return n.Group().Status().FormatVersion == 2 })

		s.kill("c")
		s.known["c"] = []fsm.Addition{}
		older := s.start("c")
		time.Sleep(5 * time.Second)
		if res := do(s.leader(), force("k")); res[0].Status != engine.OK {
			t.Errorf("the others answer with status %d", res[0].Status)
		}
		time.Sleep(5 * time.Second)
		for name, n := range s.nodes {
			if shown := shownVersion(n, "c"); shown != 1 {
				t.Errorf("%s: the older node is shown with version %d", name, shown)
			}
		}
		if older.Group().Status().AppliedIndex > 0 {
			t.Error("the older node was given the log")
		}
		if res := do(older, acquire("k", 10, 1)); res[0].Status != engine.NoLeader {
			t.Errorf("the older node answers with status %d", res[0].Status)
		}

		if r, heard := s.leader().statuses.Last(older.id); !heard || s.leader().Group().Parts().CouldVote(r) {
			t.Error("the older node counts as one that could vote")
		}
		s.names = append(s.names, "d")
		s.expect = 3
		s.known["d"] = []fsm.Addition{}
		s.start("d")
		time.Sleep(5 * time.Second)
		err := s.leader().Group().Add(t.Context(), "d", "d", true)
		if err == nil || !strings.Contains(err.Error(),
			"the cluster uses format version 2, and the node 'd' knows version 1: upgrade it") {
			t.Errorf("an older node that joins is answered with %v", err)
		}
		if slices.ContainsFunc(s.leader().Group().Members(), func(m raft.Server) bool {
			return raftnode.NodeName(m.ID) == "d"
		}) {
			t.Error("an older node was made a member")
		}
		s.mustNotFail()

		for _, name := range []string{"c", "d"} {
			s.kill(name)
			s.known[name] = forceIsNew
			s.start(name)
		}
		s.eventually("all four are members", func(n *Node) bool { return len(n.Group().Cluster().Members) == 4 })
		s.mustNotFail()
	})
}

// State that may use additions is imported only once all members know them.
func TestImportWaitsForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader := mixed(t)
		defer s.stop()
		scratch := t.TempDir()
		source := func() Source {
			from := store.New(store.Config{Shards: 4})
			from.Apply(time.Now().UnixNano(), []engine.Op{force("k")}, make([]engine.Result, 1))
			return Source{Store: from, At: time.Now().UnixNano(), Scratch: scratch}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if imported, err := leader.Import(ctx, source()); imported || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beside an older member: %t, %v", imported, err)
		}
		s.kill("c")
		s.known["c"] = forceIsNew
		s.start("c")
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if imported, err := leader.Import(ctx, source()); !imported || err != nil {
			t.Errorf("after its upgrade: %t, %v", imported, err)
		}
		s.eventually("all have the state", func(n *Node) bool { return n.opt.Store.Len() == 1 })
		s.mustNotFail()
	})
}

// A member of release 0.1.0 knows no commands on data: the others refuse them, and take them once it is upgraded.
func TestCommandsWaitForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		defer s.stop()
		s.known["c"] = []fsm.Addition{}
		s.mixed()
		time.Sleep(5 * time.Second)
		command := operation("INCR", "k")
		for _, name := range []string{"a", "b"} {
			n := s.nodes[name]
			if got := do(n, command)[0]; got.Status != engine.TooNew || len(got.Reply) > 0 {
				t.Errorf("%s: %+v", name, got)
			}
			if err := n.Group().TooNew([]engine.Op{command}); err == nil || !strings.Contains(err.Error(),
				"commands on Redis data needs format version 2, and the member 'c' knows version 1") {
				t.Errorf("%s: %v", name, err)
			}
		}
		s.mustNotFail()
		s.upgrade("c")
		for i, name := range s.names {
			if got := do(s.nodes[name], command)[0]; got.Status != engine.OK || string(got.Reply) != fmt.Sprintf(":%d\r\n",
				i+1) {
				t.Errorf("%s: status %d, %q", name, got.Status, got.Reply)
			}
		}
	})
}

// While a member does not know named fields, policies that need them, and checks with fields, are refused. All others
// are taken, even with {} in them.
func TestNamedFieldsWaitForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		s.known["c"] = []fsm.Addition{}
		s.mixed()
		defer s.stop()
		plain := []engine.Op{operation("RL.POLICY", "SET", "plain", "TB", "u:{}", "100", "1/h"),
			operation("RL.POLICY", "OVERRIDE", "plain", "vip", "TB", "v:{}", "100", "1/h"), operation("RL.CHECK", "plain", "7")}
		named := []engine.Op{
			operation("RL.POLICY", "SET", "named", "TB", "{tenant}:{}", "100", "1/h"), operation("RL.POLICY", "OVERRIDE",
				"named", "vip", "TB", "{{}}", "100", "1/h"),
			operation("RL.CHECK", "named", "7", "WITH", "tenant", "acme"),
		}
		ask := func(ops []engine.Op, want engine.Status) {
			t.Helper()
			for _, op := range ops {
				for name, n := range s.nodes {
					if got := do(n, op)[0]; got.Status != want {
						t.Errorf("%s at %s: status %d", op.Key, name, got.Status)
					}
				}
			}
		}
		ask(plain, engine.OK)
		ask(named, engine.TooNew)
		if err := s.nodes["a"].Group().TooNew(named); !strings.Contains(err.Error(),
			"a named field in a policy needs format version 2, and the member 'c' knows version 1") {
			t.Error(err)
		}
		s.upgrade("c")
		ask(plain, engine.OK)
		ask(named, engine.OK)
		missing := operation("RL.CHECK", "named", "7", "WITH", "other", "acme")
		for name, n := range s.nodes { // the name comes from the leader
			if got := do(n, missing)[0]; got.Status != engine.UnknownField || string(got.Reply) != "other" {
				t.Errorf("%s: status %d, %q", name, got.Status, got.Reply)
			}
		}
		s.mustNotFail()
	})
}

// A node that has only just started does not know the cluster's version. It keeps an operation of a later version until
// then, and does not answer that there is no leader.
func TestNewOperationsWaitForTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		s.kill("c")
		n := s.start("c")
		if n.Group().Status().ClusterID != "" {
			t.Error("it knows the version at once: the test shows nothing")
		}
		if got := do(n, operation("TB.ACQUIRE", "k", "10", "1/h", "KEEP", "1"))[0]; got.Status != engine.OK || !got.Allowed {
			t.Errorf("status %d", got.Status)
		}
	})
}
