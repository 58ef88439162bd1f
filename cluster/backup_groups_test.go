package cluster

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
)

// look is a key as it is in a store that is no cluster's.
func look(from *store.Store, key []byte) engine.Result {
	results := make([]engine.Result, 1)
	from.Apply(time.Now().UnixNano(), []engine.Op{{Verb: engine.Look, Key: key}}, results)
	return results[0]
}

// readSource is the state in a backup as an import takes it.
func readSource(t *testing.T, file []byte) group.Source {
	t.Helper()
	from := group.Source{Store: store.New(store.Config{Shards: 4}), Scratch: t.TempDir()}
	t.Cleanup(from.Store.Close)
	found, err := persistence.ReadBackup("backup", bytes.NewReader(file), from.Store, 0)
	if err != nil {
		t.Fatal(err)
	}
	from.At = found.Time
	return from
}

// usedGroups is the backup of a cluster of four groups with a shared limit whose tokens some groups hold, and the number of tokens granted.
func usedGroups(t *testing.T) (file []byte, granted int64) {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s := simulateShared(t, []string{"global:*"}, faultGroups, "a", "b", "c")
		defer s.stop()
		do(s.nodes["a"], engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{acquire("user:{}", 100, 0)}})
		for i := range 400 {
			res := do(s.nodes[s.names[i%3]], userAnd(1+i%faultGroups, acquire("global:x", 10_000, 0), 1))[0]
			if !res.Allowed {
				t.Fatalf("%+v", res)
			}
			granted++
			time.Sleep(time.Millisecond)
		}
		home := do(s.nodes["a"], engine.Op{Verb: engine.Look, Key: []byte("global:x")})[0]
		if home.Lent == 0 {
			t.Fatal("no group holds tokens: this test shows nothing")
		}
		for _, n := range s.nodes {
			kept := backup(t, n)
			got := look(kept, []byte("global:x"))
			if got.Lent != 0 || got.Remaining > 10_000-granted || got.Remaining < 10_000-granted-home.Lent {
				t.Errorf("%d granted and %d lent of 10000, and the backup has %+v", granted, home.Lent, got)
			}
			if kept.Len() != 1+faultGroups || kept.PurseCount() != 0 || len(kept.PolicyNames()) != 1 {
				t.Errorf("the backup has %d keys, %d purses and the policies %q", kept.Len(), kept.PurseCount(), kept.PolicyNames())
			}
			for number := 1; number <= faultGroups; number++ {
				if got := look(kept, keyOf(number, faultGroups, 7)); got.Remaining != 1000-granted/faultGroups {
					t.Errorf("the backup has %+v of a key with %d of 1000 taken", got, granted/faultGroups)
				}
			}
		}
		if _, err := s.nodes["b"].Backup(t.Context(), &out, false); err != nil {
			t.Error(err)
		}
		s.mustNotFail()
	})
	return out.Bytes(), granted
}

// A backup of groups starts a cluster with another number of them, also if its import is ended at any moment and begun again. No limit grants
// more than was left, and no group has only its part.
func TestImportIntoGroups(t *testing.T) {
	file, granted := usedGroups(t)
	finished := 0
	for _, groups := range []int{1, 2, 3} {
		for end := time.Duration(0); end < 500*time.Millisecond; end += 100 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t)
				s.names, s.groups, s.shared = []string{"a", "b", "c"}, groups, []string{"global:*"}
				if groups == 1 {
					s.groups, s.shared = 0, nil
				}
				for _, name := range s.names {
					s.start(name)
				}
				defer s.stop()
				s.leader()
				ctx, cancel := context.WithTimeout(t.Context(), end)
				if done, _ := s.nodes["b"].Import(ctx, readSource(t, file)); done {
					finished++
				}
				cancel()
				s.kill("b")
				s.start("b")
				if _, err := s.nodes["b"].Import(t.Context(), readSource(t, file)); err != nil {
					t.Errorf("again, after %v: %v", end, err)
				}
				s.eventually("all nodes have the state", func(n *Node) bool {
					for _, g := range n.groups() {
						if !g.Cluster().Imported {
							return false
						}
					}
					return true
				})
				if done, err := s.nodes["a"].Import(t.Context(), readSource(t, file)); done || err != nil {
					t.Errorf("a second import: %t, %v", done, err)
				}
				if got := do(s.nodes["c"], engine.Op{Verb: engine.Look, Key: []byte("global:x")})[0]; got.Remaining > 10_000-granted || got.Remaining == 0 {
					t.Errorf("%d groups, ended after %v, have %+v of a limit with %d of 10000 granted", groups, end, got, granted)
				}
				for number := 1; number <= faultGroups; number++ {
					if got := do(s.nodes["a"], engine.Op{Verb: engine.Look, Key: keyOf(number, faultGroups, 7)})[0]; got.Remaining != 1000-granted/faultGroups {
						t.Errorf("%d groups have %+v of a key with %d of 1000 taken", groups, got, granted/faultGroups)
					}
				}
				s.mustNotFail()
			})
		}
	}
	if finished == 0 || finished == 3*5 {
		t.Errorf("%d of %d imports were not ended: this test shows nothing", finished, 3*5)
	}
}

// Groups in use are not replaced, by a node that was restarted, nor is a part of them.
func TestImportReplacesNoGroupInUse(t *testing.T) {
	file, _ := usedGroups(t)
	synctest.Test(t, func(t *testing.T) {
		s := simulateGroups(t, 2, "a", "b", "c")
		defer s.stop()
		do(s.nodes["a"], acquire(string(keyOf(2, 2, 0)), 10, 1))
		s.kill("b")
		s.start("b")
		if done, err := s.nodes["b"].Import(t.Context(), readSource(t, file)); done || !errors.Is(err, group.ErrHoldsState) {
			t.Errorf("%t, %v", done, err)
		}
		if group.HoldsState(s.nodes["b"].opt.KeyStores[0]) {
			t.Error("group 1 has state, and group 2 had its own")
		}
		s.mustNotFail()
	})
}
