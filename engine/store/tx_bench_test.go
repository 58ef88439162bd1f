package store

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/transaction"
)

// txCalls carries out scripts and commands without an interpreter: it calls the functions of a transaction that the
// commands of a limiter's script call, on the first declared key.
type txCalls struct{ txSteps }

var benchValue = []byte("1764428400.1234567")

func (txCalls) Run(tx *transaction.Tx, op *engine.Op, res *engine.Result) {
	key := op.Args[op.KeyFrom]
	change := func() {
		e := tx.Edit(key, engine.StringKind)
		e.Data = append(e.Data[:0], benchValue...)
	}
	expire := func() {
		tx.Get(key)
		tx.Get(key)
		tx.Edit(key, engine.StringKind).ExpiresAt = tx.Now() + int64(time.Minute)
	}
	switch string(op.Args[0]) {
	case "GET":
		v, _ := tx.Get(key)
		res.Reply = append(res.Reply, v.Data...)
	case "GET, SET EX":
		tx.Get(key)
		tx.Get(key)
		tx.Set(key, engine.Value{Kind: engine.StringKind, ExpiresAt: tx.Now() + int64(time.Minute), Data: benchValue})
	case "HMGET, HMSET, EXPIRE":
		tx.Get(key)
		tx.Get(key)
		change()
		expire()
	case "INCR":
		tx.Get(key)
		change()
	case "INCR, EXPIRE":
		tx.Get(key)
		change()
		expire()
	case "ZREMRANGEBYSCORE, ZCARD, ZADD, EXPIRE":
		tx.Get(key)
		tx.Get(key)
		tx.Get(key)
		change()
		expire()
	}
}

// Transactions on 20,000 keys in random order, alone and in pipelines of 16: all that a script costs beside its
// interpreter, the texts of its commands and the connection.
func BenchmarkTx(b *testing.B) {
	const keys = 20_000
	for _, c := range []struct {
		calls string
		verb  engine.Verb
	}{
		{"GET", engine.Command},
		{"INCR", engine.Command},
		{"GET, SET EX", engine.Script},
		{"HMGET, HMSET, EXPIRE", engine.Script},
		{"INCR, EXPIRE", engine.Script},
		{"ZREMRANGEBYSCORE, ZCARD, ZADD, EXPIRE", engine.Script},
	} {
		for _, pipeline := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", c.calls, pipeline), func(b *testing.B) { benchmarkTx(b, c.calls, c.verb, keys, pipeline) })
		}
	}
}

func benchmarkTx(b *testing.B, calls string, verb engine.Verb, keys, pipeline int) {
	s := New(Config{Commands: txCalls{}})
	defer s.Close()
	batch, results := make([]engine.Op, pipeline), make([]engine.Result, pipeline)
	for i := range batch {
		batch[i] = engine.Op{Verb: verb, Args: [][]byte{[]byte(calls), nil}, KeyFrom: 1, KeyCount: 1}
		if calls == "GET" {
			batch[i].Options = engine.Peek
		}
	}
	now := time.Now().UnixNano()
	set := []engine.Op{{Verb: engine.Script, Args: [][]byte{[]byte("GET, SET EX"), nil}, KeyFrom: 1, KeyCount: 1}}
	for i := range keys {
		set[0].Args[1] = fmt.Appendf(nil, "limit:user:%d", i)
		s.Apply(now, set, results)
	}
	random := make([][]byte, keys)
	for i, n := range rand.Perm(keys) {
		random[i] = fmt.Appendf(nil, "limit:user:%d", n)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; {
		at := i % keys
		n := min(pipeline, b.N-i, keys-at)
		for j := range n {
			batch[j].Args[1] = random[at+j]
		}
		now += 1000
		s.Apply(now, batch[:n], results)
		i += n
	}
}
