package cluster

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

// importedStore returns a store in which the keys k0 to k4 have 700 of 100,000 tokens left.
func importedStore(t *testing.T) *store.Store {
	t.Helper()
	from := store.New(store.Config{Shards: 4})
	t.Cleanup(from.Close)
	for k := range 5 {
		from.Apply(time.Now().UnixNano(), []engine.Op{acquire(fmt.Sprint("k", k), 100_000, 99_300)}, make([]engine.Result, 1))
	}
	return from
}

// A cluster that is asked at every node from its first moment on decides nothing before it has the state that it begins
// with: not from nodes' purses, not from the leader's allowance, and not from a node's own state. Afterwards no more is
// granted than the state has left.
func TestImportUnderLoad(t *testing.T) {
	for _, sharing := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { importUnderLoad(t, sharing) })
	}
}

func importUnderLoad(t *testing.T, sharing bool) {
	s := simulate(t)
	s.names, s.ahead, s.imports = []string{"a", "b", "c"}, time.Second, map[string]string{"b": "then"}
	s.sharing.Store(sharing)
	for _, name := range s.names {
		for _, to := range s.names {
			s.net.SetDelay(name, to, 3*time.Millisecond) // so that entries are in flight
		}
	}
	var asking sync.WaitGroup
	var refused, early, read, uncertain atomic.Int64
	var whole atomic.Bool
	var granted [5]atomic.Int64
	stop := make(chan struct{})
	for _, name := range s.names {
		n := s.start(name)
		asking.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				k := min(i%10, 4)
				res := do(n, acquire(fmt.Sprint("k", k), 100_000, 1))[0]
				local := doLocally(n, engine.Op{Verb: engine.Look, Key: []byte("k0")})[0]
				switch hasAll := whole.Load(); {
				case res.Status == engine.Importing:
					refused.Add(1)
				case res.Status == engine.Uncertain:
					uncertain.Add(1)
				case res.Status == engine.OK && !hasAll:
					early.Add(1)
				case res.Status == engine.OK:
					granted[k].Add(res.Granted)
				}
				if local.Status == engine.NotFound {
					read.Add(1)
				}
			}
		})
	}
	defer s.stop()
	s.leader()
	time.Sleep(3 * time.Second)
	whole.Store(true) // grants count from here on
	if done, err := s.nodes["b"].Import(t.Context(), Source{Store: importedStore(t), At: time.Now().UnixNano(),
		Scratch: t.TempDir()}); !done || err != nil {
		t.Errorf("%t, %v", done, err)
	}
	s.awaitImported()
	time.Sleep(4 * time.Second)
	close(stop)
	asking.Wait()
	for k := range granted {
		if got := granted[k].Load(); got > 700 || got == 0 {
			t.Errorf("sharing %t, key %d: %d granted of 700 left by the import", sharing, k, got)
		}
	}
	if refused.Load() == 0 || early.Load() > 0 || read.Load() > 0 || uncertain.Load() > 0 {
		t.Errorf("sharing %t: before the import %d requests were refused, %d decided; %d reads of one node saw no key; %d requests have an unknown outcome", sharing, refused.Load(), early.Load(), read.Load(), uncertain.Load())
	}
	s.mustNotFail()
}

// doLocally asks one node to answer from its own state, as after READONLY.
func doLocally(n *Node, ops ...engine.Op) []engine.Result {
	b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Local: true}
	done := make(chan struct{})
	b.Done = func() { close(done) }
	if !n.Decide(b) {
		<-done
	}
	return b.Results
}

// Every founder has the name of the import on its disk before the cluster has a leader: any of them may be the first
// leader, even one that has not heard of the node that brings the state. A pledge that was given before that node was
// met gets the name later.
func TestEveryFounderKnowsTheImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		s.names, s.imports = []string{"a", "b", "c"}, map[string]string{"c": "then"}
		defer s.stop()
		s.start("a")
		s.start("b")
		// before c is there
		if err := s.nodes["b"].pledges.give(t.Context(), peers.Pledge{Former: s.nodes["a"].id, Address: "a"}); err != nil {
			t.Fatal(err)
		}
		s.start("c")
		s.leader()
		for name, n := range s.nodes {
			if got := n.pledges.importName(); got != "then" {
				t.Errorf("%s has given its pledge to a cluster that begins with %q", name, got)
			}
			if due := n.first.Cluster().ImportName; due != "then" {
				t.Errorf("at %s the cluster begins with %q", name, due)
			}
		}
		s.mustNotFail()
	})
}

// A cluster of which one founder does not know that a single group awaits an import is not formed.
func TestImportNeedsItsVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		s.names, s.imports = []string{"a", "b", "c"}, map[string]string{"b": "then"}
		older := slices.DeleteFunc(slices.Clone(fsm.Additions), func(a fsm.Addition) bool {
			return a.Version >= fsm.ImportOfOneGroup
		})
		s.known = map[string][]fsm.Addition{"c": older}
		defer s.stop()
		for _, name := range s.names {
			s.start(name)
		}
		time.Sleep(10 * time.Second)
		for name, n := range s.nodes {
			if got := do(n, acquire("k", 10, 1))[0]; got.Status == engine.OK || n.Status().ClusterID != "" {
				t.Errorf("%s: %+v, %+v", name, got, n.Status())
			}
		}
		s.kill("c")
		s.known = nil
		s.start("c")
		s.leader()
		if got := do(s.nodes["c"], acquire("k", 10, 1))[0]; got.Status != engine.Importing {
			t.Errorf("%+v", got)
		}
		s.mustNotFail()
	})
}
