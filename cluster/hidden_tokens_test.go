package cluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command/data"
)

// Every answer counts the tokens that the leader has granted in its memory, also one that grants nothing itself: it is
// the answer of a store that has granted them.
func TestAnswersCountTokensOfTheLeadersMemory(t *testing.T) {
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 4, Rate: limits.Rate{Tokens: 1, Period: int64(time.Second)}}
	ask := func(key string, tokens int64) engine.Op {
		return engine.Op{Key: []byte(key), Limit: limit, Tokens: tokens, Options: engine.FixedCost}
	}
	single := func(key string, tokens int64, keep engine.Keep) engine.Op {
		return engine.Op{Key: []byte(key), Limit: limit, Tokens: tokens, Keep: keep}
	}
	both := func(key string) engine.Op { // the second limit denies
		return engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{ask(key, 1), ask(key+" other", 5)}}
	}
	words := func(words ...string) (args [][]byte) {
		for _, w := range words {
			args = append(args, []byte(w))
		}
		return args
	}
	cases := map[string]func(key string) engine.Op{
		"more than the limit": func(key string) engine.Op { return single(key, 5, 0) },
		"keep":                func(key string) engine.Op { return single(key, 1, engine.KeepTokens(4)) },
		"look":                func(key string) engine.Op { return engine.Op{Verb: engine.Look, Key: []byte(key)} },
		"loans":               func(key string) engine.Op { return engine.Op{Verb: engine.Loans, Key: []byte(key)} },
		"refund":              func(key string) engine.Op { return engine.Op{Verb: engine.Refund, Key: []byte(key), Tokens: 9} },
		"delete":              func(key string) engine.Op { return engine.Op{Verb: engine.Delete, Key: []byte(key)} },
		"all":                 both,
		"reserve all": func(key string) engine.Op {
			return engine.Op{Verb: engine.Reserve, Key: []byte(key + " id"), MaxWait: int64(time.Minute), Parts: []engine.Op{both(key)}}
		},
		"reserve": func(key string) engine.Op {
			return engine.Op{Verb: engine.Reserve, Key: []byte(key + " id"), MaxWait: int64(time.Minute), Parts: []engine.Op{single(key, 5, 0)}}
		},
		"check": func(key string) engine.Op {
			return engine.Op{Verb: engine.Check, Key: []byte("policy"), Who: []byte(key), Tokens: 1, MaxKey: 64}
		},
		"command": func(key string) engine.Op {
			return engine.Op{Verb: engine.Command, Args: words("exists", key), KeyFrom: 1, KeyCount: 1}
		},
		"script": func(key string) engine.Op {
			return engine.Op{Verb: engine.Script, Tokens: scriptcache.Dialect, Args: words("eval", "return redis.call('exists', KEYS[1])", "1", key), KeyFrom: 3, KeyCount: 1}
		},
	}
	policy := engine.Op{Verb: engine.SetPolicy, Key: []byte("policy"), Parts: []engine.Op{ask("{}", 1), ask("{} other", 5)}}
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.sharing.Store(true)
		n := s.leader()
		time.Sleep(10 * time.Second) // the allowance of earlier leaders is back
		alone := store.New(store.Config{Commands: &data.Executor{}})
		defer alone.Close()
		apply := func(op engine.Op) engine.Result {
			results := make([]engine.Result, 1)
			alone.Apply(time.Now().UnixNano(), []engine.Op{op}, results)
			return results[0]
		}
		do(n, policy)
		apply(policy)
		for name, op := range cases {
			before := n.Group().Status().DecidedByAllowance
			first := single(name, 1, 0)
			if do(n, first); n.Group().Status().DecidedByAllowance == before {
				t.Fatalf("%s: the leader has taken nothing in its memory", name)
			}
			apply(first)
			if got, want := shown(do(n, op(name))[0]), shown(apply(op(name))); got != want {
				t.Errorf("%s: the cluster answers %s, a store %s", name, got, want)
			}
		}
	})
}

// shown is what of a result does not depend on the time.
func shown(res engine.Result) string {
	text := fmt.Sprintf("%v allowed %v, granted %d, %d of %d, %q", res.Status, res.Allowed, res.Granted, res.Remaining, res.Limit, res.Reply)
	for i := range res.Parts {
		text += "; " + shown(res.Parts[i])
	}
	return text
}
