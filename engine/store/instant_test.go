package store

import (
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
)

// Two goroutines read the clock, and the one with the later time comes first: the other's request is decided as if it
// had come at that time, so that it has the last token too.
func TestEarlierTimeHasTheLastToken(t *testing.T) {
	const now, later = epoch, epoch + sec/1000
	limit := bucket(2, 1, 3600*sec)
	take := func(key string) engine.Op { return engine.Op{Key: []byte(key), Limit: limit, Tokens: 1} }
	several := func(keys ...string) (op engine.Op) {
		op.Verb = engine.AcquireAll
		for _, key := range keys {
			op.Parts = append(op.Parts, take(key))
		}
		return op
	}
	reserve := engine.Op{Verb: engine.Reserve, Key: []byte("id"), MaxWait: 60 * sec, Parts: []engine.Op{several("a", "b")}}
	check := engine.Op{Verb: engine.Check, Key: []byte("policy"), Tokens: 1}
	peek := take("a")
	peek.Options = engine.Peek
	for name, second := range map[string][]engine.Op{
		"one key":          {take("a")},
		"a group":          {take("b"), take("c"), take("a")},
		"several keys":     {several("b", "a")},
		"several requests": {several("b", "c"), several("d", "a")},
		"a reservation":    {reserve},
		"a policy":         {check},
		"a peek":           {peek},
	} {
		for _, atomic := range []bool{false, true} {
			t.Run(fmt.Sprint(name, atomic), func(t *testing.T) {
				s := New(Config{Shards: 4})
				defer s.Close()
				ask(s, now, engine.Op{Verb: engine.SetPolicy, Key: []byte("policy"), Parts: several("b", "a").Parts})
				if res := ask(s, later, take("a")); !res.Allowed {
					t.Fatalf("first: %+v", res)
				}
				results := make([]engine.Result, len(second))
				if atomic {
					s.ApplyAtomic(now, second, results)
				} else {
					s.Apply(now, second, results)
				}
				for i := range results {
					if !results[i].Allowed {
						t.Errorf("%d: %+v", i, results[i])
					}
				}
			})
		}
	}
	t.Run("read-only", func(t *testing.T) {
		s := New(Config{Shards: 1})
		defer s.Close()
		ask(s, later, take("a"))
		var res engine.Result
		if done := s.TryReadOnly(now, &peek, &res); !done || !res.Allowed || res.Remaining != 0 {
			t.Errorf("%t %+v", done, res)
		}
		if res := ask(s, now-sec, take("other")); res.Reset != 3600*sec { // reading at a time does not make it the latest
			t.Errorf("%+v", res)
		}
		if res := ask(s, later, take("a")); !res.Allowed {
			t.Errorf("%+v", res)
		}
	})
	t.Run("the leader's allowance", func(t *testing.T) {
		s := New(Config{Shards: 1})
		defer s.Close()
		taken := s.Beside(Config{})
		defer taken.Close()
		granted := func(key string, others int64) (n int) {
			op, res := take(key), engine.Result{}
			op.Limit = bucket(1000, 1000, sec)
			for at := later; s.TakeAllowance(taken, s.Hash(op.Key), at, at, 0, &op, &res); at = others {
				n++
			}
			return n
		}
		if got, want := granted("b", now), granted("a", later); got != want || want == 0 {
			t.Errorf("%d granted, want %d", got, want)
		}
	})
	t.Run("a shared limiter", func(t *testing.T) {
		for name, second := range map[string]engine.Op{"one key": take("x:2"), "several keys": several("b", "x:2")} {
			s := New(Config{MaxBytes: 1})
			defer s.Close()
			s.SetRules(admission.Rules{NewKeys: engine.OverflowNew, Delimiters: ":"})
			ask(s, later, take("x:1"))
			if res := ask(s, now, second); !res.Allowed || s.NewKeyCounts().Shared < 2 {
				t.Errorf("%s: %+v, %+v", name, res, s.NewKeyCounts())
			}
		}
	})
	t.Run("a command", func(t *testing.T) {
		s := newTxStore(t, Config{Shards: 4})
		replyTo(t, s, later, "a", "set a 1, expire a 1000000")
		if got, want := replyTo(t, s, now, "a", "get a "), `true="1" in 1000000 ns`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
