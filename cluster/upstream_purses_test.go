package cluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/store"
)

// bringTokens gives each of some keys 5 tokens that another cluster has lent.
func bringTokens(decide func(op engine.Op) engine.Result, keys int) {
	for i := range keys {
		op := acquire(fmt.Sprint("key", i), 1000, 0)
		kept, _ := op.Limit.InPurse()
		prepared := decide(engine.Op{Verb: engine.Prepare, Key: op.Key, Limit: kept})
		p := purse.Of(&prepared)
		decide(p.Answered(op.Key, 5, p.Number))
	}
}

// Tokens that another cluster has lent to this one are in no backup, and in no cluster that begins with one, and neither
// are reservations of them: this cluster may go on spending them.
func TestTokensOfAnotherClusterAreNotCopied(t *testing.T) {
	const keys = 12
	for _, groups := range []int{1, 4} {
		t.Run(fmt.Sprint(groups), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := simulate
				if groups > 1 {
					begin = func(t *testing.T, names ...string) *simulated { return simulateGroups(t, groups, names...) }
				}
				s := begin(t, "a", "b", "c")
				defer s.stop()
				bringTokens(func(op engine.Op) engine.Result { return do(s.leader(), op)[0] }, keys)
				for _, n := range s.nodes {
					if got := do(n, engine.Op{Verb: engine.Look, Key: []byte("key7")})[0]; got.Remaining != 5 {
						t.Fatalf("%s has %+v: this test shows nothing", n.opt.Node, got)
					}
					if kept := backup(t, n); kept.PurseCount() != 0 || kept.Len() != 0 {
						t.Errorf("a backup of %s has %d keys, %d of them with tokens of another cluster", n.opt.Node, kept.Len(),
							kept.PurseCount())
					}
				}
			})
		})
		t.Run(fmt.Sprint("into ", groups), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := importingCluster(t, groups)
				defer s.stop()
				from := store.New(store.Config{Shards: 4}) // of a server alone, which has spent them since
				bringTokens(func(op engine.Op) engine.Result {
					results := make([]engine.Result, 1)
					from.Apply(time.Now().UnixNano(), []engine.Op{op}, results)
					return results[0]
				}, keys)
				request := acquire("key0", 1000, 2)
				request.Limit, _ = request.Limit.InPurse()
				reserved := engine.Op{Verb: engine.Reserve, Key: []byte("key"), MaxWait: int64(time.Hour), Parts: []engine.Op{request}}
				from.Apply(time.Now().UnixNano(), []engine.Op{acquire("other", 1000, 20), reserved}, make([]engine.Result, 2))
				s.nodes["b"].opt.ImportName = "then"
				if _, err := s.nodes["b"].Import(t.Context(), Source{Store: from, At: time.Now().UnixNano(),
					Scratch: t.TempDir()}); err != nil {
					t.Fatal(err)
				}
				s.awaitImported()
				if got := do(s.nodes["a"], engine.Op{Verb: engine.Look, Key: []byte("other")})[0]; got.Remaining != 980 {
					t.Errorf("the cluster began with %+v of another key", got)
				}
				for i := range keys {
					if got := do(s.nodes["a"], engine.Op{Verb: engine.Look,
						Key: fmt.Append(nil, "key", i)})[0]; got.Status != engine.NotFound {
						t.Errorf("the cluster began with %d tokens of key%d", got.Remaining, i)
					}
				}
				if got := do(s.nodes["a"], engine.Op{Verb: engine.Settle, Key: []byte("key"), Tokens: 1})[0]; got.Status != engine.NotFound {
					t.Errorf("the cluster began with a reservation of these tokens: %+v", got)
				}
			})
		})
	}
}
