package keyspace

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

const (
	second = int64(time.Second)
	begin  = int64(1_800_000_000_000_000_000) // of the tests, in nanoseconds since the Unix epoch
)

func newKeyspace(o Config) *Keyspace {
	s := new(Keyspace)
	s.Init(o)
	return s
}

// askKey carries out an operation on one key.
func askKey(s *Keyspace, now int64, op engine.Op) (res engine.Result) {
	sh, tag := s.Locate(op.Key)
	sh.Lock()
	defer sh.Unlock()
	sh.Apply(new(algorithm.Call), now, tag, &op, &res)
	return res
}

func checkKeyspace(t *testing.T, s *Keyspace) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

func numberedKey(i int) []byte { return fmt.Appendf(nil, "key:%012d", i) }

func tokenBucket(capacity, tokens, period int64) limits.Limit {
	return limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: tokens, Period: period}}
}

// allChanges passes on all changes since the last call.
func allChanges(s *Keyspace, now int64, visit func(Change)) { s.TakeChanges(math.MaxInt, now, visit) }
