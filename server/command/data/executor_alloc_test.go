//go:build !race

// The race detector makes sync.Pool drop items at random, so code under it allocates.

package data_test

import (
	"bytes"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command/data"
)

// A limiter's script allocates the values that it makes, and little else.
func TestScriptsAllocateLittle(t *testing.T) {
	s := store.New(store.Config{Commands: &data.Executor{}})
	defer s.Close()
	load := engine.Op{Verb: engine.Script, Tokens: scriptcache.Dialect, Args: [][]byte{[]byte("SCRIPT"), []byte("LOAD"), []byte(gcra)}}
	op := load
	op.Args, op.KeyFrom, op.KeyCount = bytes.Fields([]byte("EVALSHA "+scriptcache.Digest([]byte(gcra))+" 1 k 1000000 1000000 1 1")), 3, 1
	ops, results := []engine.Op{load}, make([]engine.Result, 1)
	now := int64(1_800_000_000_000_000_000)
	s.Apply(now, ops, results)
	ops[0] = op
	n := testing.AllocsPerRun(1000, func() { now += 1000; s.Apply(now, ops, results) })
	if reply := results[0].Reply; len(reply) == 0 || reply[0] != '*' {
		t.Fatalf("the reply is %q", reply)
	}
	if n > 22 {
		t.Errorf("%v allocations", n)
	}
}

// The commands of most limiters allocate nothing on a key that exists.
func TestDataCommandsDoNotAllocate(t *testing.T) {
	s := store.New(store.Config{Commands: &data.Executor{}})
	defer s.Close()
	for _, line := range []string{"SET k 41", "GET k", "INCR k", "INCRBY k 7", "DECR k", "SET k 42 EX 100", "SET k 43 XX", "EXPIRE k 60 NX", "PEXPIRETIME k", "SETEX k 10 5", "MGET k k none", "INCRBY k none",
		"ZADD z 1 a 1.5 b", "ZADD z XX CH 2 a", "ZINCRBY z 1 a", "ZCARD z", "ZCOUNT z (1 +inf", "ZSCORE z a", "ZREM z none", "ZREMRANGEBYSCORE z 0 1", "ZRANGE z 0 0 WITHSCORES",
		"HSET h f 1 g 2", "HMGET h f g", "HGETALL h", "HINCRBY h f 1", "HDEL h none", "RPUSH l a", "LINDEX l -1", "LTRIM l 0 3", "LPOP l", "SADD s a", "SMISMEMBER s a b"} {
		op := engine.Op{Verb: engine.Command, Args: bytes.Fields([]byte(line)), KeyFrom: 1, KeyCount: 1}
		if string(op.Args[0]) == "MGET" {
			op.KeyCount = uint32(len(op.Args)) - 1
		}
		ops, results := []engine.Op{op}, make([]engine.Result, 1)
		now := int64(1_800_000_000_000_000_000)
		s.Apply(now, ops, results)
		if n := testing.AllocsPerRun(1000, func() { now++; s.Apply(now, ops, results) }); n != 0 {
			t.Errorf("%s: %v allocations; the reply is %q", line, n, results[0].Reply)
		}
	}
}
