package data_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/script"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command/data"
)

// A script lists the grants of a sliding log.
func TestLogInScripts(t *testing.T) {
	s := newDataStore(t)
	const body = "redis.call('SL.ACQUIRE', KEYS[1], 5, '1h', 2) local all = redis.call('SL.LOG', KEYS[1], 'COUNT', 7) return {#all, all[1][2]}"
	for range 2 { // at one instant
		if got := s.do("EVAL", body, "1", "log"); !strings.HasPrefix(got, "*2\r\n:1\r\n:") {
			t.Errorf("%q", got)
		}
	}
	if got := s.do("EVAL", "return redis.pcall('SL.LOG', KEYS[1])", "1", "text"); got != "*0\r\n" {
		t.Errorf("%q", got)
	}
}

// A list in a script only counts towards the limit of this script.
func TestListsInScripts(t *testing.T) {
	s := newDataStore(t)
	const fill = "for i = 1, 200 do redis.call('CC.ACQUIRE', KEYS[1], 1000, '1h', ARGV[1] .. i) end"
	const list = "return #redis.call('CC.HOLDERS', KEYS[1])"
	s.do("EVAL", fill, "1", "key", strings.Repeat("h", 200))
	for n := range 200 { // 200 lists of 40 kB
		if got := s.do("EVAL", list, "1", "key"); got != ":400\r\n" {
			t.Fatalf("script %d: %q", n, got)
		}
	}
}

// Looking through many holders uses steps of the script's budget.
func TestHoldersTakeSteps(t *testing.T) {
	s := newDataStore(t)
	s.do("EVAL", "for i = 1, 1000 do redis.call('CC.ACQUIRE', KEYS[1], 1000, '1h', i) end", "1", "key")
	const body = "for i = 1, 4000 do redis.call('RL.INFO', KEYS[1]) end return 1"
	if got := s.do("EVAL", body, "1", "key"); !strings.Contains(got, "budget") {
		t.Errorf("%q", got)
	}
	if got := s.do("EVAL", body, "1", "other"); got != ":1\r\n" {
		t.Errorf("without holders: %q", got)
	}
}

// Commands about several limits are refused by name.
func TestSeveralLimitsInScripts(t *testing.T) {
	s := newDataStore(t)
	for call, name := range map[string]string{
		"'RL.ALL', 'TB', 'a', 5, '1/s'":                        "RL.ALL",
		"'RL.CHECK', 'p', '7'":                                 "RL.CHECK",
		"'TB.ACQUIRE', 'a', 5, '1/s', 'AS', 'id', 'FOR', '1m'": "AS",
		"'RL.CHECK', 'p', '7', 'AS', 'id', 'FOR', '1m'":        "RL.CHECK",
		"'RL.SETTLE', 'id', 1":                                 "RL.SETTLE",
		"'RL.EXTEND', 'id', 1, 1":                              "RL.EXTEND",
		"'RL.CANCEL', 'id'":                                    "RL.CANCEL",
	} {
		want := fmt.Sprintf("-ERR %s is not allowed from script; ", name)
		if got := s.do("EVAL", "return redis.pcall("+call+")", "0"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", call, got)
		}
	}
}

// If only this node runs a script, a script that takes too long is ended although it has steps left, and changes
// nothing. A script in a cluster's log runs to its end on every node.
func TestScriptThatTakesTooLong(t *testing.T) {
	const body = "redis.call('SET', KEYS[1], 1) for i = 1, 1e4 do end return 2"
	for _, replicated := range []bool{false, true} {
		kept := store.New(store.Config{Shards: 16, Replicated: replicated, Commands: &data.Executor{ScriptTime: -1}})
		op := engine.Op{Verb: engine.Script, Tokens: scriptcache.Dialect, Args: [][]byte{[]byte("EVAL"), []byte(body), []byte("1"), []byte("k")}, KeyFrom: 3, KeyCount: 1}
		var res engine.Result
		if done := kept.TryReadOnly(1, &op, &res); !done || string(res.Reply) != "-"+script.TimeError+"\r\n" || kept.Len() != 0 {
			t.Errorf("replicated: %t, tried: answered %t, %q, %d keys", replicated, done, res.Reply, kept.Len())
		}
		kept.Apply(1, []engine.Op{op}, []engine.Result{res})
		want := 0
		if replicated {
			want = 1
		}
		if kept.Len() != want {
			t.Errorf("replicated: %t, applied: %d keys, want %d", replicated, kept.Len(), want)
		}
	}
}
