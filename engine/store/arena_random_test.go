package store

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// Goroutines carry out operations of all kinds, on records of all sizes, while the memory bound moves, the store is
// swept and snapshots are taken. Afterwards every count of every shard is right.
func TestSegmentsUnderAllOperations(t *testing.T) {
	for seed := range uint64(testsize.Pick(2, 8)) {
		s := New(Config{Shards: 1 << (seed % 4)})
		s.Track(true)
		ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("api"), Parts: []engine.Op{
			{Key: []byte("user:{}"), Limit: bucket(5, 1, sec)}, {Key: []byte("log:{}"), Limit: limits.Limit{Algorithm: limits.SlidingLog, Capacity: 3000, Rate: limits.Rate{Tokens: 0, Period: 10 * sec}}}}})
		var wait, upkeep sync.WaitGroup
		for g := range 3 {
			wait.Go(func() { randomOps(s, rand.New(rand.NewPCG(seed, uint64(g))), 4000) })
		}
		done := make(chan struct{})
		upkeep.Go(func() {
			r := rand.New(rand.NewPCG(seed, 99))
			for now := epoch; ; now += 50_000_000 {
				select {
				case <-done:
					return
				default:
				}
				switch r.IntN(4) {
				case 0:
					s.Sweep(now, 1+r.IntN(3000))
				case 1:
					s.SetMaxBytes(int64(r.IntN(5)) << 18)
				case 2:
					s.Changes(now, func(keyspace.Change) {})
				}
			}
		})
		wait.Wait()
		close(done)
		upkeep.Wait()
		checkTables(t, s)
		s.Close()
		if n := s.Bytes(); n != 0 {
			t.Errorf("seed %d: %d bytes after Close", seed, n)
		}
	}
}

func randomOps(s *Store, r *rand.Rand, batches int) {
	algorithms := []limits.Limit{bucket(20, 1, sec), {Algorithm: limits.FixedWindow, Capacity: 9, Rate: limits.Rate{Tokens: 0, Period: sec}}, {Algorithm: limits.SlidingWindow, Capacity: 9, Rate: limits.Rate{Tokens: 0, Period: sec}},
		{Algorithm: limits.SlidingLog, Capacity: 5000, Rate: limits.Rate{Tokens: 0, Period: 5 * sec}}, {Algorithm: limits.Concurrency, Capacity: 2000, Rate: limits.Rate{Tokens: 0, Period: 5 * sec}}}
	now := epoch
	one := func() engine.Op {
		op := engine.Op{Key: fmt.Append(nil, "key", r.IntN(3000)), Limit: algorithms[r.IntN(len(algorithms))], Tokens: 1 + r.Int64N(9)}
		if r.IntN(3) > 0 {
			op.Key = fmt.Append(nil, "hot", r.IntN(4), op.Limit.Algorithm)
		}
		if r.IntN(4) == 0 {
			op.Key, op.Limit.Capacity = fmt.Append(nil, "other", r.IntN(9)), op.Limit.Capacity+r.Int64N(1_000_000) // a limit that nobody else has
		}
		if op.Limit.Algorithm == limits.Concurrency {
			op.Who = fmt.Append(nil, "holder", r.IntN(3000))
		}
		return op
	}
	for range batches {
		now += r.Int64N(20_000_000)
		ops := make([]engine.Op, 1+r.IntN(12))
		for i := range ops {
			switch draw := r.IntN(20); {
			case draw < 2:
				ops[i] = engine.Op{Verb: engine.Delete, Key: one().Key}
			case draw == 2:
				ops[i] = engine.Op{Verb: engine.Check, Key: []byte("api"), Who: fmt.Append(nil, r.IntN(50)), Tokens: 1}
			case draw < 6:
				ops[i] = severalOf(1, one(), one())
			case draw == 6:
				reserved := severalOf(1, one())
				ops[i] = engine.Op{Verb: engine.Reserve, Key: fmt.Append(nil, "id", r.IntN(1000)), MaxWait: sec, Parts: []engine.Op{reserved}}
			case draw == 7:
				ops[i] = engine.Op{Verb: engine.Settle, Key: fmt.Append(nil, "id", r.IntN(1000)), Tokens: 1}
			default:
				ops[i] = one()
			}
		}
		s.Apply(now, ops, make([]engine.Result, len(ops)))
		if r.IntN(4) == 0 {
			key := fmt.Sprint("value", r.IntN(20))
			sh, _ := s.keys.Locate([]byte(key))
			sh.Lock()
			putValue(s, now, key, r.IntN(150_000)>>r.IntN(10))
			sh.Unlock()
		}
	}
}

// putValue writes a string as a transaction does: it makes room, then writes. The caller holds the lock.
func putValue(s *Store, now int64, key string, size int) {
	sh, tag := s.keys.Locate([]byte(key))
	u := keyspace.Update{Key: []byte(key), Value: engine.Value{Kind: engine.StringKind, Data: make([]byte, size)}, Limit: limits.Limit{Algorithm: limits.StringValue}}
	if u.Size = algorithm.ValueSize(&u.Value, 0); sh.Reserve(now, 1, keyspace.RecordBytes(u.Size, len(key))) {
		sh.Write(now, tag, sh.Find(tag, u.Key), &u, new(engine.Result))
	}
}
