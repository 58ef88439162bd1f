package cluster

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
)

// look looks at a key in the store of a single server.
func look(from *store.Store, key []byte) engine.Result {
	results := make([]engine.Result, 1)
	from.Apply(time.Now().UnixNano(), []engine.Op{{Verb: engine.Look, Key: key}}, results)
	return results[0]
}

// readSource reads the state in a backup, for an import.
func readSource(t *testing.T, file []byte) Source {
	t.Helper()
	from := Source{Store: store.New(store.Config{Shards: 4}), Scratch: t.TempDir()}
	t.Cleanup(from.Store.Close)
	found, err := persistence.ReadBackup("backup", bytes.NewReader(file), from.Store, 0)
	if err != nil {
		t.Fatal(err)
	}
	from.At = found.Time
	return from
}

// usedGroups returns the backup of a cluster of four groups with a shared limit of which some groups hold tokens, and
// the number of tokens granted. It is made once for all tests.
func usedGroups(t *testing.T) (file []byte, granted int64) {
	t.Helper()
	if used.file == nil {
		used.file, used.granted = useGroups(t)
	}
	return used.file, used.granted
}

var used struct {
	file    []byte
	granted int64
}

func useGroups(t *testing.T) (file []byte, granted int64) {
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
