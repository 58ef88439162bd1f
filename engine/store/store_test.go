package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

func keyOf(i int) []byte { return fmt.Appendf(nil, "key:%012d", i) }

// checkTables fails a test whose store's tables disagree.
func checkTables(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

// The store behaves like a map, through growth, deletion, expiry and compaction.
func TestStoreAgreesWithAMap(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	r := rand.New(rand.NewPCG(1, 2))
	fullAt := map[string]int64{} // when the key has expired
	limits := []limits.Limit{bucket(5, 1, sec), bucket(50, 1, sec), {Algorithm: limits.GCRA, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: sec}}}
	now := epoch
	for i := range 200_000 {
		now += r.Int64N(200_000)
		n := r.IntN(3000)
		key := append(keyOf(n), make([]byte, n%40)...)
		limit := limits[n%3]
		live := fullAt[string(key)] > now
		switch r.IntN(6) {
		case 0:
			res := ask(s, now, engine.Op{Verb: engine.Delete, Key: key})
			if (res.Status == engine.OK) != live {
				t.Fatalf("step %d: delete of a key that is live=%v: %+v", i, live, res)
			}
			delete(fullAt, string(key))
		case 1:
			if res := ask(s, now, engine.Op{Verb: engine.Look, Key: key}); (res.Status == engine.OK) != live || live && res.Reset != fullAt[string(key)]-now {
				t.Fatalf("step %d: look: %+v, live=%v", i, res, live)
			}
		default:
			res := ask(s, now, engine.Op{Key: key, Limit: limit, Tokens: 1})
			if res.Allowed {
				fullAt[string(key)] = max(now, fullAt[string(key)]) + sec
			}
			if res.Reset != max(0, fullAt[string(key)]-now) {
				t.Fatalf("step %d: %+v, want full at %d", i, res, fullAt[string(key)]-now)
			}
		}
		if i%5000 == 0 {
			s.Sweep(now, 500)
			checkTables(t, s)
		}
	}
	s.Sweep(now+60*sec, 20_000)
	if n := s.Len(); n != 0 {
		t.Errorf("%d keys left after all were as good as new and a whole sweep", n)
	}
	s.Sweep(now+60*sec, 20_000)
	if b := s.Bytes(); b != 0 {
		t.Errorf("%d bytes kept for no key", b)
	}
}

// A scan that goes on while keys come and go shows every key that was there throughout, once.
func TestScanSurvivesResizing(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	limit := bucket(5, 1, 3600*sec)
	take := func(i int) { ask(s, epoch, engine.Op{Key: keyOf(i), Limit: limit, Tokens: 1}) }
	for i := range 1000 {
		take(i)
	}
	seen := map[string]int{}
	other := 1000
	for cursor, calls := uint64(0), 0; ; calls++ {
		cursor = s.Scan(cursor, 7, epoch, func(e keyspace.Entry) { seen[string(e.Key)]++ })
		if cursor == 0 {
			break
		}
		for range 20 {
			take(other)
			if other++; other%3 == 0 {
				ask(s, epoch, engine.Op{Verb: engine.Delete, Key: keyOf(other - 2)})
			}
		}
		if calls > 10_000 {
			t.Fatal("the scan does not end")
		}
	}
	for i := range 1000 {
		if seen[string(keyOf(i))] != 1 {
			t.Fatalf("key %d was shown %d times", i, seen[string(keyOf(i))])
		}
	}
}

func TestWrongTypeNamesTheHolder(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	key := []byte("k")
	ask(s, epoch, engine.Op{Key: key, Limit: bucket(1, 1, sec), Tokens: 1})
	gcra := engine.Op{Key: key, Limit: limits.Limit{Algorithm: limits.GCRA, Capacity: 1, Rate: limits.Rate{Tokens: 1, Period: sec}}, Tokens: 1}
	if res := ask(s, epoch, gcra); res.Status != engine.WrongType || res.Held.Algorithm != limits.TokenBucket {
		t.Errorf("got %+v", res)
	}
	if res := ask(s, epoch+sec, gcra); !res.Allowed {
		t.Errorf("a key as good as new is free for any algorithm, got %+v", res)
	}
}

func TestMemoryBoundRefusesNewKeys(t *testing.T) {
	s := New(Config{Shards: 1, MaxBytes: 64 << 10})
	defer s.Close()
	limit := bucket(5, 1, sec)
	n := 0
	for ; n < 10_000; n++ {
		if ask(s, epoch, engine.Op{Key: keyOf(n), Limit: limit, Tokens: 1}).Status == engine.OutOfRoom {
			break
		}
	}
	if n < 500 || n == 10_000 || s.Bytes() > 64<<10 {
		t.Fatalf("%d keys in %d bytes", n, s.Bytes())
	}
	if res := ask(s, epoch, engine.Op{Key: keyOf(0), Limit: limit, Tokens: 1}); !res.Allowed || res.Remaining != 3 {
		t.Errorf("a key that is there must go on being limited: %+v", res)
	}
	if res := ask(s, epoch+5*sec, engine.Op{Key: keyOf(n), Limit: limit, Tokens: 1}); !res.Allowed {
		t.Errorf("room was not won back from keys as good as new: %+v", res)
	}
	checkTables(t, s)
}

// Parameters that differ on every call must not outgrow the keys.
func TestDistinctLimitsAreBounded(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	for i := range int64(10_000) {
		ask(s, epoch, engine.Op{Key: keyOf(int(i % 10)), Limit: bucket(1_000_000, 1+i, 60*sec), Tokens: 1})
	}
	if b := s.Bytes(); b > 8<<10 {
		t.Errorf("%d bytes kept for 10 keys", b)
	}
	checkTables(t, s)
}

// Many goroutines on few keys together grant exactly as much as one would.
func TestConcurrentGrantsAreExact(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	const keys, workers, rounds, capacity = 100, 64, 200, 50
	var granted [keys]atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			ops, results := make([]engine.Op, 0, 16), make([]engine.Result, 16)
			for i := range rounds {
				ops = ops[:0]
				for j := range 16 {
					ops = append(ops, engine.Op{Key: binary.AppendUvarint(nil, uint64((w+i+j)%keys)), Limit: bucket(capacity, 1, 3600*sec), Tokens: 1})
				}
				apply := s.Apply
				if i%10 == 0 {
					apply = s.ApplyAtomic
				}
				apply(epoch, ops, results)
				for j := range results {
					granted[(w+i+j)%keys].Add(results[j].Granted)
				}
			}
		})
	}
	wg.Wait()
	for k := range granted {
		if n := granted[k].Load(); n != capacity {
			t.Errorf("key %d: %d granted, want %d", k, n, capacity)
		}
	}
}

// manyKeys are more keys than the processor's caches have room for.
func manyKeys() [][]byte {
	keys := make([][]byte, 100_000)
	for i := range keys {
		keys[i] = keyOf(i)
	}
	return keys
}

func BenchmarkAcquire(b *testing.B) {
	s := New(Config{})
	defer s.Close()
	keys := manyKeys()
	ops, results := make([]engine.Op, 64), make([]engine.Result, 64)
	now, x := epoch, uint32(1)
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(ops) {
		for j := range ops {
			x = x*1664525 + 1013904223
			ops[j] = engine.Op{Key: keys[x%100_000], Limit: bucket(10, 5, 60*sec), Tokens: 1}
		}
		now += 1000
		s.Apply(now, ops, results)
	}
}

func BenchmarkCheck(b *testing.B) {
	s := New(Config{})
	defer s.Close()
	keys := manyKeys()
	name := []byte("two")
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: name, Parts: []engine.Op{
		{Key: []byte("one:{}"), Limit: bucket(1_000_001, 30, 60*sec)}, {Key: []byte("two:{}"), Limit: bucket(1_000_001, 30, 60*sec)}}})
	ops, results := make([]engine.Op, 16), make([]engine.Result, 16)
	now, x := epoch, uint32(1)
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(ops) {
		for j := range ops {
			x = x*1664525 + 1013904223
			ops[j] = engine.Op{Verb: engine.Check, Key: name, Who: keys[x%100_000], Tokens: 1}
		}
		now += 1000
		s.Apply(now, ops, results)
	}
}
