package keyspace

import (
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
)

// An observer hears of every key that is written, deleted, swept or flushed while it observes, and of none before and
// after.
func TestChangedKeysAreTold(t *testing.T) {
	var told []string
	s := newKeyspace(Config{Changed: func(key []byte) {
		if key == nil {
			told = append(told, "all")
			return
		}
		told = append(told, string(key))
	}})
	defer s.Close()
	do := func(now int64, verb engine.Verb, key string) {
		askKey(s, now, engine.Op{Verb: verb, Key: []byte(key), Limit: tokenBucket(2, 2, second), Tokens: 1})
	}
	expect := func(want string) {
		t.Helper()
		if got := strings.Join(told, " "); got != want {
			t.Errorf("told of %q, want %q", got, want)
		}
		told = nil
	}
	do(1, engine.Acquire, "a")
	expect("")
	s.Observe(true)
	do(2, engine.Acquire, "a")
	do(2, engine.Look, "a")
	do(2, engine.Acquire, "b")
	expect("a b")
	do(3, engine.Delete, "a")
	expect("a")
	for s.Len() > 0 {
		s.Sweep(60*second, 1000)
	}
	expect("b")
	s.Flush(60*second, false)
	expect("all")
	s.Observe(false)
	do(60*second, engine.Acquire, "c")
	expect("")
}
