//go:build !race

// The race detector makes sync.Pool drop items at random, so code under it allocates.

package command

import (
	"bytes"
	"testing"

	"github.com/stintdb/stint/engine"
)

// GET, SET and INCR on a key that exists allocate nothing.
func TestDataCommandsDoNotAllocate(t *testing.T) {
	s := engine.New(engine.Config{Commands: &Executor{}})
	defer s.Close()
	for _, line := range []string{"SET k 41", "GET k", "INCR k", "INCRBY k 7", "DECR k", "SET k 42 EX 100", "SET k 43 XX", "EXPIRE k 60 NX", "PEXPIRETIME k", "SETEX k 10 5", "MGET k k none", "INCRBY k none"} {
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
