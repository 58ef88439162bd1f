package store

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/policy"
)

// Checks are counted by the server that answers them, by the name of their policy, whether it is there yet or comes
// back.
func TestCountsOfChecks(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	granted, denied, shadow := engine.Result{Allowed: true, Binding: -1}, engine.Result{Binding: 0}, engine.Result{Allowed: true, Binding: 1}
	set := engine.Op{Verb: engine.SetPolicy, Key: []byte("api"), Parts: []engine.Op{{Key: []byte("{}"), Limit: bucket(2, 1, sec)}}}
	expect := func(what string, want [3]int64) {
		t.Helper()
		if p, _ := s.Policy("api"); [3]int64{p.Granted, p.Denied, p.ShadowDenied} != want {
			t.Errorf("%s: %d granted, %d denied, %d in shadow, want %v", what, p.Granted, p.Denied, p.ShadowDenied, want)
		}
	}
	count := func(all ...engine.Result) {
		for i := range all {
			s.CountCheck([]byte("api"), &all[i])
		}
	}
	count(granted, denied)
	ask(s, epoch, set)
	expect("counted before the policy was there", [3]int64{1, 1, 0})
	count(granted, denied, shadow, shadow, engine.Result{Status: engine.Uncertain}, engine.Result{Status: engine.NotFound})
	expect("with errors", [3]int64{2, 2, 2})
	s.Clear()
	count(shadow)
	ask(s, epoch, set)
	expect("as a snapshot is loaded", [3]int64{2, 2, 3})
	ask(s, epoch, engine.Op{Verb: engine.DropPolicy, Key: set.Key})
	ask(s, epoch, set)
	expect("after another policy of that name", [3]int64{2, 2, 3})
	once := engine.Op{Verb: engine.Reserve, Key: []byte("id"), MaxWait: sec, Parts: []engine.Op{{Verb: engine.Check, Key: set.Key, Who: []byte("ann"), Tokens: 1}}}
	for range 3 {
		count(ask(s, epoch, once))
	}
	expect("a repeated reservation", [3]int64{3, 2, 3})
	for i := range 6 * policy.MaxPolicies {
		s.CountCheck(keyOf(i), &granted)
	}
	expect("beside many that are gone", [3]int64{3, 2, 3})
}
