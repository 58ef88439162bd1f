package keyspace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// A shard keeps what it was given, in segments of all sizes, while entries come, go, expire, are swept and compacted,
// with and without a bound on memory.
func TestSegments(t *testing.T) {
	compacted, large, refused, shrunk := 0, 0, 0, 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 31))
		s := newKeyspace(Config{Shards: 1})
		sh := &s.shards[0]
		s.Track(true)
		if seed%3 == 2 {
			s.SetMaxBytes(2 << 20)
		}
		type value struct {
			data  []byte
			until int64
		}
		want, journal, now := map[string]value{}, map[string][]byte{}, begin
		report := func() {
			allChanges(s, now, func(c Change) {
				delete(journal, string(c.Entry.Key))
				if c.Kind == Changed {
					journal[string(c.Entry.Key)] = bytes.Clone(algorithm.DataOf(c.Entry.State))
				}
			})
		}
		most := 100 << r.IntN(4)
		for step := range 20_000 {
			now += 1_000_000
			key := fmt.Appendf(nil, "key:%d", r.IntN(10*most))
			switch draw := r.IntN(1000); {
			case draw < 250 || draw < 700 && step/5000%2 == 1: // every other quarter has more deletions
				op := engine.Op{Verb: engine.Delete, Key: key}
				askKey(s, now, op)
				delete(want, string(key))
			case draw < 990:
				size := r.IntN(300)
				if draw > 970 {
					size = r.IntN(40_000)
				}
				if draw == 989 {
					size = r.IntN(300_000)
					large++
				}
				v := value{data: make([]byte, size)}
				for i := range v.data {
					v.data[i] = byte(step + i)
				}
				if r.IntN(3) == 0 {
					v.until = now + r.Int64N(5*second)
				}
				p := Update{Key: key, Value: engine.Value{Kind: engine.StringKind, ExpiresAt: v.until, Data: v.data}, Limit: limits.Limit{Algorithm: limits.StringValue}}
				_, tag := s.Locate(key)
				if p.Size = algorithm.ValueSize(&p.Value, 0); !sh.Reserve(now, 1, RecordBytes(p.Size, len(key))) {
					refused++
					break
				}
				sh.Write(now, tag, sh.Find(tag, p.Key), &p, new(engine.Result))
				want[string(key)] = v
			case draw < 995:
				before := s.Bytes()
				s.Sweep(now, r.IntN(3000))
				if s.Bytes() < before {
					shrunk++
				}
			default:
				report()
			}
			if n := s.Bytes(); s.memory.max.Load() > 0 && n > 2<<20 {
				t.Fatalf("seed %d: %d bytes", seed, n)
			}
			if step%500 != 0 {
				continue
			}
			checkKeyspace(t, s)
			if len(sh.arena.Segments) > 1 {
				compacted++
			}
			seen := 0
			s.Scan(0, 1<<20, now, func(e Entry) {
				v := want[string(e.Key)]
				if seen++; !bytes.Equal(algorithm.DataOf(e.State), v.data) || int64(binary.LittleEndian.Uint64(e.State[8:])) != v.until {
					t.Fatalf("seed %d, step %d: %s has %d bytes until %d, want %d until %d", seed, step, e.Key, len(algorithm.DataOf(e.State)), algorithm.ExpiryOf(e.State), len(v.data), v.until)
				}
			})
			report()
			for k, v := range want {
				if v.until != 0 && v.until <= now {
					delete(want, k)
					continue
				}
				if got, is := journal[k]; !is || !bytes.Equal(got, v.data) {
					t.Fatalf("seed %d, step %d: the journal has %d bytes of %s, want %d", seed, step, len(got), k, len(v.data))
				}
			}
			if seen != len(want) {
				t.Fatalf("seed %d, step %d: %d keys, want %d", seed, step, seen, len(want))
			}
		}
		s.Close()
		if n := s.Bytes(); n != 0 {
			t.Errorf("seed %d: %d bytes after Close", seed, n)
		}
	}
	if compacted < 100 || large < 100 || refused < 50 || shrunk < 10 {
		t.Errorf("several segments %d times, %d large values, %d refused, shrunk %d times: too little was tried", compacted, large, refused, shrunk)
	}
}
