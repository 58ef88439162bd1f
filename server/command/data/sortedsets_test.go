package data_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// ownCommands adds a command that makes a set of two members.
type ownCommands struct{ data.Executor }

func (o *ownCommands) Run(tx *transaction.Tx, op *engine.Op, res *engine.Result) {
	if string(op.Args[0]) != "MAKESET" {
		o.Executor.Run(tx, op, res)
		return
	}
	tx.Set(op.Args[1], engine.Value{Kind: engine.SetKind, Data: datatype.SetOf([][]byte{[]byte("a"), []byte("b")})})
}

// doWords executes a command on a store, and returns its reply.
func doWords(s *store.Store, words ...string) string {
	op := engine.Op{Verb: engine.Command, KeyFrom: 1}
	for _, w := range words {
		op.Args = append(op.Args, []byte(w))
	}
	if row := command.LookUp(op.Args[0]); row != nil {
		keys := row.Keys.Of(op.Args)
		op.KeyFrom, op.KeyCount = uint32(keys.From), uint32(keys.To-keys.From)
	}
	results := make([]engine.Result, 1)
	s.Apply(1_800_000_000_000_000_000, []engine.Op{op}, results)
	return string(results[0].Reply)
}

func newSortedSetStore(t *testing.T) *store.Store {
	s := store.New(store.Config{Shards: 4, Commands: &ownCommands{}})
	t.Cleanup(s.Close)
	return s
}

// The members of a set count as members with the score 1.
func TestUnionTakesSets(t *testing.T) {
	s := newSortedSetStore(t)
	doWords(s, "MAKESET", "set")
	doWords(s, "ZADD", "z", "5", "b", "6", "c")
	got := doWords(s, "ZUNION", "2", "set", "z", "WEIGHTS", "10", "1", "WITHSCORES")
	if want := "*6\r\n$1\r\nc\r\n$1\r\n6\r\n$1\r\na\r\n$2\r\n10\r\n$1\r\nb\r\n$2\r\n15\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := doWords(s, "ZCARD", "set"); !strings.HasPrefix(got, "-WRONGTYPE") {
		t.Errorf("ZCARD of a set: %q", got)
	}
}

// A sorted set that would be too large stays as it was, and many members can be added and removed at once.
func TestSortedSetIsBounded(t *testing.T) {
	s := store.New(store.Config{Replicated: true, Shards: 4, Commands: &ownCommands{}}) // which has no blocks
	t.Cleanup(s.Close)
	long := strings.Repeat("x", 1000)
	add := []string{"ZADD", "z"}
	for i := range 1000 {
		add = append(add, fmt.Sprint(i), fmt.Sprint(i)+long)
	}
	if got := doWords(s, add...); got != ":1000\r\n" {
		t.Fatalf("%.200q", got)
	}
	if got := doWords(s, "ZADD", "z", "1", strings.Repeat("y", 60_000)); !strings.HasPrefix(got, "-ERR value: at most 1048576 bytes") {
		t.Errorf("%.200q", got)
	}
	if got := doWords(s, "ZADD", "z", "1", "last", "1", strings.Repeat("y", 60_000)); !strings.HasPrefix(got, "-ERR value: at most 1048576 bytes") {
		t.Errorf("%.200q", got)
	}
	if got := doWords(s, "ZSCORE", "z", "last"); got != "$-1\r\n" {
		t.Errorf("a member was added by a command that failed: %q", got)
	}
	room := engine.MaxValueBytes - 4 - 1000*(1003+datatype.ScoredBytes) + 90 + 20 - datatype.ScoredBytes
	if got := doWords(s, "ZADD", "z", "1", strings.Repeat("y", room+1)); !strings.HasPrefix(got, "-ERR value") {
		t.Errorf("%.200q", got)
	}
	if got := doWords(s, "ZADD", "z", "1", strings.Repeat("y", room)); got != ":1\r\n" {
		t.Errorf("a member that just fits: %.200q", got)
	}
	if got := doWords(s, "ZUNION", "2", "z", "z"); !strings.HasPrefix(got, "-ERR value") {
		t.Errorf("a large union: %.200q", got)
	}
	remove := []string{"ZREM", "z", "0" + long, "0" + long}
	for i := range 1000 {
		remove = append(remove, fmt.Sprint(i)+long)
	}
	if got := doWords(s, append(remove, strings.Repeat("y", room))...); got != ":1001\r\n" {
		t.Errorf("%.200q", got)
	}
	if got := doWords(s, "TYPE", "z"); got != "+none\r\n" {
		t.Errorf("%q", got)
	}
}

// BenchmarkSlidingWindow is a request to a limiter with 300 requests in its window, including the making of the
// commands.
func BenchmarkSlidingWindow(b *testing.B) {
	s := store.New(store.Config{Shards: 1, Commands: &data.Executor{}})
	defer s.Close()
	results := make([]engine.Result, 1)
	op := func(line string) []engine.Op {
		return []engine.Op{{Verb: engine.Command, Args: bytes.Fields([]byte(line)), KeyFrom: 1, KeyCount: 1}}
	}
	now := int64(1_800_000_000_000)
	b.ReportAllocs()
	for b.Loop() {
		now++
		for _, ops := range [][]engine.Op{op(fmt.Sprintf("ZREMRANGEBYSCORE k 0 %d", now-300)), op("ZCARD k"), op(fmt.Sprintf("ZADD k %d %d-0123456789", now, now))} {
			s.Apply(now*1e6, ops, results)
		}
	}
	if got := doWords(s, "ZCARD", "k"); b.N > 300 && got != ":300\r\n" {
		b.Error(got)
	}
}
