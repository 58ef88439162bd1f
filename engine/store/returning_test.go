package store

import (
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// BenchmarkReturning acquires random keys of 100,000 while the store is swept as a server does. In one case all buckets
// keep their state, in the other each is full again when its key comes back.
func BenchmarkReturning(b *testing.B) {
	for name, limit := range map[string]limits.Limit{"kept": bucket(10, 5, 60*sec), "expired": bucket(1, 1000, sec)} {
		b.Run(name, func(b *testing.B) {
			s := New(Config{})
			defer s.Close()
			keys := make([][]byte, 100_000)
			for i := range keys {
				keys[i] = keyOf(i)
			}
			ops, results := make([]engine.Op, 16), make([]engine.Result, 16)
			now, swept, x := epoch, epoch, uint32(1)
			b.ReportAllocs()
			for i := 0; i < b.N; i += len(ops) {
				for j := range ops {
					x = x*1664525 + 1013904223
					ops[j] = engine.Op{Key: keys[uint64(x)*100_000>>32], Limit: limit, Tokens: 1}
				}
				now += 16_000 // a million requests a second
				s.Apply(now, ops, results)
				if now-swept >= int64(100*time.Millisecond) {
					swept = now
					s.Sweep(now, 2000)
				}
			}
			b.ReportMetric(float64(s.Len()), "keys")
		})
	}
}

func TestExpiredKeysLinger(t *testing.T) {
	limit := bucket(1, 1000, sec)
	ask := func(s *Store, now int64, key int) {
		s.Apply(now, []engine.Op{{Key: keyOf(key), Limit: limit, Tokens: 1}}, make([]engine.Result, 1))
	}
	const keys = 5000
	t.Run("for keys that come back", func(t *testing.T) {
		s := New(Config{Shards: 1})
		defer s.Close()
		now := epoch
		for range 3 * keys {
			ask(s, now, int(now-epoch)/100_000%keys)
			now += 100_000
		}
		if n := s.Len(); n != keys {
			t.Errorf("%d of %d keys have a record", n, keys)
		}
	})
	t.Run("not for long", func(t *testing.T) {
		s := New(Config{Shards: 1})
		defer s.Close()
		for i := range 20 * keys {
			ask(s, epoch+int64(i)*1_000_000, i)
		}
		if n := s.Len(); n > 4000 {
			t.Errorf("%d keys have a record; 1000 came in the last second", n)
		}
	})
	t.Run("not when memory is short", func(t *testing.T) {
		s := New(Config{Shards: 1, MaxBytes: 64 << 10})
		defer s.Close()
		results := make([]engine.Result, 1)
		for i := range 20 * keys {
			s.Apply(epoch+int64(i)*2_000_000, []engine.Op{{Key: keyOf(i), Limit: limit, Tokens: 1}}, results)
			if !results[0].Allowed || results[0].Status != engine.OK {
				t.Fatalf("key %d: %+v", i, results[0])
			}
		}
	})
}
