package store

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Two templates meet exactly if values are found, by trying all short ones, that make them one key.
func TestMeetByTrying(t *testing.T) {
	templates := []string{"", "a", "{}", "a{}", "{}a", "a:{}", "{}:a", "a:{}:b", "ab", "a:b", ":", "{x}", "a{x}", "{x}a", "{x}:{}", "{}:{x}", "a:{x}:{}", "{x}:a:{y}", "b:{}", "a:{y}", "a:{x}b", "{}b", ":{}", "{}:", "a:b:{x}"}
	short := []string{"", "a", "b", ":", "aa", "ab", "ba", "bb"}
	ids := []string{""}
	for i := 0; len(ids[i]) < 5; i++ {
		ids = append(ids, ids[i]+"a", ids[i]+"b", ids[i]+":")
	}
	keysOf := func(t *engine.Template) map[string]bool {
		keys := map[string]bool{}
		for _, id := range ids {
			for _, x := range short {
				for _, y := range short {
					key, _ := t.AppendTo(nil, []byte(id), [][]byte{[]byte("x"), []byte(x), []byte("y"), []byte(y)})
					keys[string(key)] = true
				}
			}
		}
		return keys
	}
	type tried struct {
		template engine.Template
		keys     map[string]bool
	}
	var all []tried
	for _, text := range templates {
		template, err := engine.ParseTemplate([]byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		all = append(all, tried{template, keysOf(&template)})
	}
	for i, a := range all {
		for j, b := range all {
			found := false
			for key := range a.keys {
				found = found || b.keys[key]
			}
			if got := engine.Meet(a.template.Elements(nil, false), b.template.Elements(nil, false)); got != found {
				t.Errorf("%q and %q: %v, values were found: %v", templates[i], templates[j], got, found)
			}
		}
	}
}

// A policy of an earlier version whose limits come to one key denies that caller, and nothing is taken; others are
// checked.
func TestSameKeyOfAStoredPolicy(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	bucket, window := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 2, Rate: limits.Rate{Tokens: 1, Period: 6e10}}, limits.Limit{Algorithm: limits.FixedWindow, Capacity: 100, Rate: limits.Rate{Tokens: 0, Period: 36e11}}
	parts := []engine.Op{{Key: []byte("user:{}"), Limit: bucket}, {Key: []byte("user:all"), Limit: window}}
	for _, op := range []engine.Op{{Verb: engine.SetPolicy, Key: []byte("api"), Parts: parts}, {Verb: engine.SetPolicy, Key: []byte("trial"), Options: engine.Shadow, Parts: parts}} {
		if err := CheckPolicy(&op); err != nil {
			t.Fatal(err)
		}
		ask(s, epoch, op)
	}
	check := engine.Op{Verb: engine.Check, Key: []byte("api"), Who: []byte("all"), Tokens: 1}
	reserve := engine.Op{Verb: engine.Reserve, Key: []byte("call"), MaxWait: 6e10, Parts: []engine.Op{check}}
	peek, trial := check, check
	peek.Options, trial.Key = engine.Peek, []byte("trial")
	for name, op := range map[string]engine.Op{"check": check, "peek": peek, "with an id": reserve} {
		res := ask(s, epoch, op)
		if res.Status != engine.OK || res.Allowed || res.Granted != 0 || res.Wait != engine.NeverWait || res.Binding != 1 || len(res.Parts) != 2 || res.Parts[1].Limit != 100 {
			t.Errorf("%s: %+v", name, res)
		}
		var read engine.Result
		if !s.TryReadOnly(epoch, &op, &read) || read.Allowed || read.Wait != engine.NeverWait {
			t.Errorf("%s, without a log entry: %+v", name, read)
		}
	}
	if res := ask(s, epoch, trial); !res.Allowed || res.Granted != 1 {
		t.Errorf("in shadow: %+v", res)
	}
	results := make([]engine.Result, 3)
	s.Apply(epoch, []engine.Op{check, {Verb: engine.Check, Key: []byte("api"), Who: []byte("ann"), Tokens: 2}, check}, results)
	if results[0].Allowed || !results[1].Allowed || results[2].Allowed {
		t.Errorf("among others: %+v", results)
	}
	if s.Len() != 2 { // those of ann
		t.Errorf("%d keys", s.Len())
	}
}
