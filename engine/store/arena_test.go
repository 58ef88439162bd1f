package store

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

// check checks that the bytes of each segment add up, and that records and notes refer to segments.
func (a *arena) check(t *testing.T, s *shard) {
	t.Helper()
	live := map[*segment]int{}
	for _, slot := range s.index.slots {
		if slot != 0 {
			live[&a.segments[a.firstNumber(uint32(slot))]] += s.size(s.record(uint32(slot)))
		}
	}
	if a.current < len(a.segments) && a.segments[a.current].part != 0 {
		t.Fatalf("segment %d is the current one, and part %d of another", a.current, a.segments[a.current].part)
	}
	parts := 0
	a.each(func(n int, g *segment) {
		if g.used > len(g.bytes) || g.live() != live[g] {
			t.Fatalf("segment %d of %d bytes: %d used, %d of them dead, %d live", n, len(g.bytes), g.used, g.dead, live[g])
		}
		for _, b := range g.bytes[g.used:] {
			if b != 0 {
				t.Fatalf("segment %d: not zero after %d bytes", n, g.used)
			}
		}
		for i := range numbers(len(g.bytes)) {
			if p := a.segments[n+i]; p.part != i || len(p.bytes) != len(g.bytes)-i*segmentBytes {
				t.Fatalf("segment %d, part %d: part %d of %d bytes", n, i, p.part, len(p.bytes))
			}
		}
		parts += numbers(len(g.bytes))
		delete(live, g)
	})
	for n, g := range a.segments {
		if g.bytes != nil {
			parts--
		} else if g.used != 0 || n == len(a.segments)-1 {
			t.Fatalf("free number %d of %d: %d used", n, len(a.segments), g.used)
		}
	}
	if parts != 0 || len(live) != 0 {
		t.Fatalf("%d numbers without a block, records in %d segments that there are not", parts, len(live))
	}
	for _, ref := range s.dirty {
		if a.segments[a.firstNumber(ref)].bytes == nil {
			t.Fatalf("a note refers to segment %d, which is free", segmentOf(ref))
		}
	}
}

// A shard keeps what it was given, in segments of all sizes, while entries come, go, expire, are swept and compacted, with and without a
// bound on memory.
func TestSegments(t *testing.T) {
	compacted, large, refused, shrunk := 0, 0, 0, 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 31))
		s := New(Config{Shards: 1})
		sh := &s.shards[0]
		s.Track(true)
		if seed%3 == 2 {
			s.SetMaxBytes(2 << 20)
		}
		type value struct {
			data  []byte
			until int64
		}
		want, journal, now := map[string]value{}, map[string][]byte{}, epoch
		report := func() {
			s.Changes(now, func(c Change) {
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
				ask(s, now, op)
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
					v.until = now + r.Int64N(5*sec)
				}
				p := update{key: key, Value: engine.Value{Kind: limits.StringValue, ExpiresAt: v.until, Data: v.data}, limit: limits.Limit{Algorithm: limits.StringValue}}
				_, tag := s.locate(key)
				if p.size = algorithm.ValueSize(&p.Value, 0); !sh.reserve(now, 1, recordBytes(p.size, len(key))) {
					refused++
					break
				}
				sh.write(now, tag, &p, new(engine.Result))
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
			if n := s.Bytes(); s.mem.max.Load() > 0 && n > 2<<20 {
				t.Fatalf("seed %d: %d bytes", seed, n)
			}
			if step%500 != 0 {
				continue
			}
			sh.check(t)
			if len(sh.arena.segments) > 1 {
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
