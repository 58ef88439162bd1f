package data_test

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// A script in an unknown dialect is not run in another dialect.
func TestUnknownDialectIsRefused(t *testing.T) {
	kept := store.New(store.Config{Shards: 1, Commands: &data.Executor{}})
	defer kept.Close()
	r := command.Request{Args: [][]byte{[]byte("EVAL"), []byte("return redis.call('SET', 'k', 1)"), []byte("0")}}
	if err := data.ParseScript(&r); err != nil {
		t.Fatal(err)
	}
	results := make([]engine.Result, 1)
	for _, dialect := range []int64{0, scriptcache.Dialect + 1} {
		r.Ops[0].Tokens = dialect
		if kept.Apply(1, r.Ops, results); results[0].Status != engine.Unreadable || len(results[0].Reply) > 0 || kept.Len() > 0 {
			t.Errorf("dialect %d is answered with status %d, %q", dialect, results[0].Status, results[0].Reply)
		}
	}
	ping := command.Request{Args: [][]byte{[]byte("EVAL"), []byte("return redis.pcall('PING')"), []byte("0")}}
	if err := data.ParseScript(&ping); err != nil {
		t.Fatal(err)
	}
	for dialect, want := range []string{1: "-ERR This Redis command is not allowed from script\r\n", 2: "+PONG\r\n"} {
		if ping.Ops[0].Tokens = int64(dialect); dialect == 0 {
			continue
		}
		if kept.Apply(1, ping.Ops, results); string(results[0].Reply) != want {
			t.Errorf("PING in dialect %d: %q", dialect, results[0].Reply)
		}
	}
	r.Ops[0].Tokens = scriptcache.Dialect
	if kept.Apply(1, r.Ops, results); results[0].Status != engine.OK || kept.Len() != 1 {
		t.Errorf("this version's dialect is answered with status %d, %q", results[0].Status, results[0].Reply)
	}
}
