package cluster

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

// importedStore is a store of which the keys k0 to k4 have 700 of 100,000 tokens left.
func importedStore(t *testing.T) *store.Store {
	t.Helper()
	from := store.New(store.Config{Shards: 4})
	t.Cleanup(from.Close)
	for k := range 5 {
		from.Apply(time.Now().UnixNano(), []engine.Op{acquire(fmt.Sprint("k", k), 100_000, 99_300)}, make([]engine.Result, 1))
	}
	return from
}

// A cluster that is asked from its first moment on begins with an import nevertheless. Afterwards no more tokens are granted
// than it brought, on any node, also by nodes that held tokens before.
func TestImportUnderLoad(t *testing.T) {
	for _, sharing := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := simulate(t)
			s.names, s.ahead = []string{"a", "b", "c"}, time.Second
			s.sharing.Store(sharing)
			for _, name := range s.names {
				for _, to := range s.names {
					s.net.SetDelay(name, to, 3*time.Millisecond) // so that entries are in flight
				}
				s.start(name)
			}
			defer s.stop()
			from := importedStore(t)
			var imported atomic.Bool
			var uncertain atomic.Int64
			var before, granted [5]atomic.Int64
			var asking sync.WaitGroup
			stop := make(chan struct{})
			for _, name := range s.names {
				n := s.nodes[name]
				asking.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						case <-time.After(time.Millisecond):
						}
						k, after := min(i%10, 4), imported.Load()
						res := do(n, acquire(fmt.Sprint("k", k), 100_000, 1))
						switch {
						case res[0].Status == engine.Uncertain:
							uncertain.Add(1)
						case res[0].Status != engine.OK:
						case after:
							granted[k].Add(res[0].Granted)
						default:
							before[k].Add(res[0].Granted)
						}
					}
				})
			}
			s.leader()
			held := int64(0)
			for i := 0; i < 10_000 && (held == 0 || before[4].Load() == 0); i++ {
				time.Sleep(time.Millisecond)
				held = s.nodes["a"].Group().Status().LentTokens + s.nodes["b"].Group().Status().LentTokens + s.nodes["c"].Group().Status().LentTokens
			}
			if done, err := s.nodes["b"].Import(t.Context(), Source{Store: from, At: time.Now().UnixNano(), Scratch: t.TempDir()}); !done || err != nil {
				t.Errorf("%t, %v", done, err)
			}
			s.eventually("all nodes have the state", func(n *Node) bool { return n.Group().Cluster().Imported })
			imported.Store(true)
			time.Sleep(4 * time.Second)
			close(stop)
			asking.Wait()
			for k := range granted {
				if got := granted[k].Load(); got > 700 || got == 0 {
					t.Errorf("sharing %t, key %d: %d granted after an import with 700 left (%d before)", sharing, k, got, before[k].Load())
				}
			}
			if before[4].Load() == 0 || held == 0 {
				t.Errorf("sharing %t: %d granted and %d held before the import: this test shows nothing", sharing, before[4].Load(), held)
			}
			if n := uncertain.Load(); n > 0 {
				t.Errorf("sharing %t: %d requests have an unknown outcome", sharing, n)
			}
			s.mustNotFail()
		})
	}
}

// State is not replaced by a node that came later, was restarted, or asks late.
func TestImportReplacesNoStateInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		from := importedStore(t)
		do(s.leader(), acquire("in use", 10, 1))
		refused := func(what, node string) {
			t.Helper()
			if done, err := s.nodes[node].Import(t.Context(), Source{Store: from, At: time.Now().UnixNano(), Scratch: t.TempDir()}); done || !errors.Is(err, group.ErrHoldsState) {
				t.Errorf("%s: %t, %v", what, done, err)
			}
		}
		s.kill("b")
		s.start("b")
		refused("restarted", "b")
		s.kill("c")
		s.disks["c"] = newMemDisk(1)
		s.start("c")
		s.eventually("c is a member again", func(n *Node) bool { return len(n.Group().Members()) == 3 && n.Group().Status().AppliedIndex > 0 })
		refused("with an empty disk", "c")
		if s.nodes["a"].Group().IsFounder() != true || s.nodes["b"].Group().IsFounder() || s.nodes["c"].Group().IsFounder() {
			t.Error("a alone has been in the cluster from the beginning")
		}
		s.mustNotFail()
	})
}
