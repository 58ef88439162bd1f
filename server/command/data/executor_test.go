package data_test

import (
	"math"
	"strconv"
	"strings"
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
	for _, c := range []struct{ body, first, second string }{
		{"return redis.pcall('PING')", "-ERR This Redis command is not allowed from script\r\n", "+PONG\r\n"},
		{"return tostring(math.log10(1000) == 3) .. '|'", strconv.FormatBool(math.Log10(1000) == 3) + "|\r\n", "true|\r\n"},
		{"return struct.pack('>d', struct.unpack('>d', '\\127\\248\\0\\0\\0\\0\\0\\1'))", "\x7f\xf8\x00\x00\x00\x00\x00\x01\r\n", "\xff\xf8\x00\x00\x00\x00\x00\x00\r\n"},
	} {
		eval := command.Request{Args: [][]byte{[]byte("EVAL"), []byte(c.body), []byte("0")}}
		if err := data.ParseScript(&eval); err != nil {
			t.Fatal(err)
		}
		for dialect, want := range map[int64]string{1: c.first, 2: c.second} {
			eval.Ops[0].Tokens = dialect
			if kept.Apply(1, eval.Ops, results); !strings.HasSuffix(string(results[0].Reply), want) {
				t.Errorf("dialect %d of %s: %q, want %q", dialect, c.body, results[0].Reply, want)
			}
		}
	}
	r.Ops[0].Tokens = scriptcache.Dialect
	if kept.Apply(1, r.Ops, results); results[0].Status != engine.OK || kept.Len() != 1 {
		t.Errorf("this version's dialect is answered with status %d, %q", results[0].Status, results[0].Reply)
	}
}
