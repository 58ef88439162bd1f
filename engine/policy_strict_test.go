package engine

import (
	"testing"

	"github.com/stintdb/stint/engine/limits"
)

func TestStrictPolicies(t *testing.T) {
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10, Rate: limits.Rate{Tokens: 1, Period: int64(1e9)}}
	s := New(Config{})
	defer s.Close()
	set := func(name, key string, options Option) {
		ask(s, epoch, Op{Verb: SetPolicy, Key: []byte(name), Options: options, Parts: []Op{{Key: []byte(key), Limit: limit}}})
	}
	set("loose", "loose:{}", 0)
	set("strict", "strict:{}", Strict|Shadow)
	restored := New(Config{})
	defer restored.Close()
	s.PolicyOps(func(op *Op) { ask(restored, epoch, *op) })
	copied, snapshot := New(Config{}), s.Snapshot()
	defer copied.Close()
	set("later", "later:{}", Strict) // the snapshot copies the policies before
	snapshot.PolicyOps(func(op *Op) { ask(copied, epoch, *op) })
	snapshot.Release()
	ask(s, epoch, Op{Verb: DropPolicy, Key: []byte("later")})
	for name, s := range map[string]*Store{"set": s, "restored": restored, "copied": copied} {
		for _, c := range []struct {
			what string
			op   Op
			want bool
		}{
			{"a check", Op{Verb: Check, Key: []byte("strict"), Who: []byte("1"), Tokens: 1}, true},
			{"a check of another policy", Op{Verb: Check, Key: []byte("loose"), Who: []byte("1"), Tokens: 1}, false},
			{"a key", Op{Verb: Acquire, Key: []byte("strict:1"), Limit: limit}, true},
			{"another key", Op{Verb: Acquire, Key: []byte("strict"), Limit: limit}, false},
			{"several keys", Op{Verb: AcquireAll, Parts: []Op{{Key: []byte("a"), Limit: limit}, {Key: []byte("strict:2"), Limit: limit}}}, true},
			{"several other keys", Op{Verb: AcquireAll, Parts: []Op{{Key: []byte("a"), Limit: limit}, {Key: []byte("b"), Limit: limit}}}, false},
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
	if s.IsStrict(&Op{Verb: Acquire, Key: []byte("strict:1"), Limit: limit}) || s.policies.strict.Load() != 0 {
		t.Error("the policy was set without STRICT and is still strict")
	}
	set("strict", "strict:{}", Strict)
	ask(s, epoch, Op{Verb: DropPolicy, Key: []byte("strict")})
	if s.policies.strict.Load() != 0 {
		t.Error("a policy that is gone is still strict")
	}
}
