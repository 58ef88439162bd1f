package store

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

func TestStrictPolicies(t *testing.T) {
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10, Rate: limits.Rate{Tokens: 1, Period: int64(1e9)}}
	s := New(Config{})
	defer s.Close()
	set := func(name, key string, options engine.Option) {
		ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte(name), Options: options, Parts: []engine.Op{{Key: []byte(key), Limit: limit}}})
	}
	set("loose", "loose:{}", 0)
	set("strict", "strict:{}", engine.Strict|engine.Shadow)
	restored := New(Config{})
	defer restored.Close()
	s.PolicyOps(func(op *engine.Op) { ask(restored, epoch, *op) })
	copied, snapshot := New(Config{}), s.Snapshot()
	defer copied.Close()
	set("later", "later:{}", engine.Strict) // the snapshot copies the policies before
	snapshot.PolicyOps(func(op *engine.Op) { ask(copied, epoch, *op) })
	snapshot.Release()
	ask(s, epoch, engine.Op{Verb: engine.DropPolicy, Key: []byte("later")})
	for name, s := range map[string]*Store{"set": s, "restored": restored, "copied": copied} {
		for _, c := range []struct {
			what string
			op   engine.Op
			want bool
		}{
			{"a check", engine.Op{Verb: engine.Check, Key: []byte("strict"), Who: []byte("1"), Tokens: 1}, true},
			{"a check of another policy", engine.Op{Verb: engine.Check, Key: []byte("loose"), Who: []byte("1"), Tokens: 1}, false},
			{"a key", engine.Op{Verb: engine.Acquire, Key: []byte("strict:1"), Limit: limit}, true},
			{"another key", engine.Op{Verb: engine.Acquire, Key: []byte("strict"), Limit: limit}, false},
			{"several keys", engine.Op{Verb: engine.AcquireAll, Parts: []engine.Op{{Key: []byte("a"), Limit: limit}, {Key: []byte("strict:2"), Limit: limit}}}, true},
			{"several other keys", engine.Op{Verb: engine.AcquireAll, Parts: []engine.Op{{Key: []byte("a"), Limit: limit}, {Key: []byte("b"), Limit: limit}}}, false},
		} {
			if got := s.IsStrict(&c.op); got != c.want {
				t.Errorf("%s: %s: %v", name, c.what, got)
			}
		}
		if p, _ := s.Policy("strict"); !p.Strict || !p.Shadow {
			t.Errorf("%s: %+v", name, p)
		}
	}
	set("strict", "strict:{}", 0)
	if s.IsStrict(&engine.Op{Verb: engine.Acquire, Key: []byte("strict:1"), Limit: limit}) {
		t.Error("the policy was set without STRICT and is still strict")
	}
}
