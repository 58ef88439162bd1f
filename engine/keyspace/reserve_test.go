package keyspace

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Reserved room avoids growth of the indexes, keeps to the memory bound, and keeps existing entries.
func TestReserve(t *testing.T) {
	const keys = 5000
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: 3600e9}}
	fill := func(s *Keyspace, first, n int) {
		for i := range n {
			if res := askKey(s, 1, engine.Op{Key: numberedKey(first + i), Limit: limit, Tokens: 1}); res.Status != engine.OK {
				t.Fatalf("key %d: %+v", first+i, res)
			}
		}
	}
	s := newKeyspace(Config{Shards: 16})
	defer s.Close()
	fill(s, 0, 10)
	s.Reserve(keys, keys*40)
	indexes := func() (bytes int64) {
		for i := range s.shards {
			bytes += s.shards[i].index.Bytes()
		}
		return bytes
	}
	before := indexes()
	fill(s, 10, keys-10)
	if after := indexes(); s.Len() != keys || after != before {
		t.Errorf("%d keys, and indexes of %d bytes, %d reserved", s.Len(), after, before)
	}
	bounded := newKeyspace(Config{Shards: 16, MaxBytes: 1 << 20})
	defer bounded.Close()
	bounded.Reserve(1<<30, 1<<40)
	if bounded.Bytes() > 1<<20 {
		t.Errorf("%d bytes reserved beyond the bound", bounded.Bytes())
	}
}

// What fitted a memory bound can be loaded again within it, however much room was asked for ahead.
func TestReserveLeavesRoom(t *testing.T) {
	full := newKeyspace(Config{Shards: 16, MaxBytes: 1 << 20})
	defer full.Close()
	n := 0
	for askKey(full, begin, engine.Op{Key: numberedKey(n), Limit: tokenBucket(5, 1, 3600*second), Tokens: 1}).Status == engine.OK {
		n++
	}
	for _, asked := range []int{0, 1, n / 2, n, 2 * n, 100 * n} {
		again := newKeyspace(Config{Shards: 16, MaxBytes: 1 << 20})
		again.Reserve(asked, asked*40)
		left := n * 85 / 100
		full.Scan(0, n, begin, func(e Entry) {
			if left > 0 && again.Load(begin, e) == nil {
				left--
			}
		})
		if left > 0 {
			t.Errorf("room for %d of %d keys was asked for, and %d did not fit", asked, n, left)
		}
		again.Close()
	}
}
