package cluster

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
)

// backup makes a backup of a node, and reads it into a store.
func backup(t *testing.T, n *Node) *store.Store {
	t.Helper()
	var file bytes.Buffer
	keys, err := n.Backup(t.Context(), &file, false)
	if err != nil {
		t.Fatal(err)
	}
	kept := store.New(store.Config{Shards: 4})
	t.Cleanup(kept.Close)
	found, err := persistence.ReadBackup("backup", &file, kept, 0)
	if err != nil || found.Keys != keys {
		t.Fatalf("%+v, %d keys: %v", found, keys, err)
	}
	return kept
}

// A backup of any node has all grants acknowledged before it, also those of other nodes. Tokens held by nodes count as
// spent in it.
func TestBackupOfACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		for round, n := range append(others, leader) {
			hot, cold := fmt.Sprint("hot", round), fmt.Sprint("cold", round)
			const capacity = 100_000
			granted := ask(others[0], acquire(hot, capacity, 1), 500, time.Millisecond)
			do(others[1], engine.Op{Key: []byte(cold), Limit: limits.Limit{Algorithm: limits.FixedWindow, Span: limits.FromFirst,
				Capacity: 9, Rate: limits.Rate{Period: int64(time.Hour)}}, Tokens: 4})
			held := others[0].Group().Status().LentTokens
			if held == 0 {
				t.Fatal("nothing is held: this test shows nothing")
			}
			kept := backup(t, n)
			look := func(key string) *engine.Result {
				results := make([]engine.Result, 1)
				kept.Apply(leader.Group().Now(), []engine.Op{{Verb: engine.Look, Key: []byte(key)}}, results)
				return &results[0]
			}
			if got := look(hot); got.Lent != 0 || got.Remaining > capacity-granted-held ||
				got.Remaining < capacity-granted-held-2000 {
				t.Errorf("%s: %d granted and %d held of %d, and the backup has %+v", n.opt.Node, granted, held, capacity, got)
			}
			if got := look(cold); got.Remaining != 5 {
				t.Errorf("%s: the backup has %+v of a key with 4 of 9 taken", n.opt.Node, got)
			}
			for shard := range kept.Shards() {
				kept.ScanLoans(shard, func(key, holder []byte, tokens int64) {
					t.Errorf("%s: %s has %d tokens of %s", n.opt.Node, holder, tokens, key)
				})
			}
		}
		s.mustNotFail()
	})
}

// Without a majority nobody knows whether the state is current.
func TestBackupNeedsALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		do(leader, acquire("k", 100, 1))
		for _, name := range s.names {
			if name != leader.opt.Node {
				s.kill(name)
			}
		}
		time.Sleep(5 * time.Second) // until no lease is left
		var file bytes.Buffer
		if _, err := leader.Backup(t.Context(), &file, false); err == nil || file.Len() > 0 {
			t.Errorf("%d bytes, %v", file.Len(), err)
		}
		if keys, err := leader.Backup(t.Context(), &file, true); err != nil || keys != 1 || file.Len() == 0 {
			t.Errorf("a stale one has %d keys in %d bytes, %v", keys, file.Len(), err)
		}
	})
}
