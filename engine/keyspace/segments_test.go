package keyspace

import (
	"fmt"
	"github.com/stintdb/stint/engine/internal/arena"
	"sync"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// writeValue writes a string as a transaction does: it makes room, then writes.
func writeValue(s *Keyspace, now int64, key string, size int) bool {
	sh, tag := s.Locate([]byte(key))
	p := Update{Key: []byte(key), Value: engine.Value{Kind: engine.StringKind, Data: make([]byte, size)}, Limit: limits.Limit{Algorithm: limits.StringValue}}
	if p.Size = algorithm.ValueSize(&p.Value, 0); !sh.Reserve(now, 1, RecordBytes(p.Size, len(key))) {
		return false
	}
	sh.Write(now, tag, sh.Find(tag, p.Key), &p, new(engine.Result))
	return true
}

// A new key finds room after the current segment was freed and another one is the only one.
func TestCurrentSegmentIsFreed(t *testing.T) {
	s := newKeyspace(Config{Shards: 1})
	defer s.Close()
	a := &s.shards[0].arena
	keys := 0
	take := func(now, period int64) {
		askKey(s, now, engine.Op{Key: fmt.Appendf(nil, "k%07d", keys), Tokens: 1, Limit: tokenBucket(5, 1, period)})
		keys++
	}
	for len(a.Segments) == 0 || len(a.Segments[0].Bytes) < arena.SegmentBytes || a.Room() >= 32 {
		take(begin, second)
	}
	for a.Current != 1 || a.Room() >= 32 {
		take(begin, 3600*second)
	}
	take(begin, second) // in a third one
	now := begin + 100*second
	for range 4 {
		s.Sweep(now, 10_000)
	}
	if a.Segments[0].Bytes != nil || len(a.Segments) > 2 {
		t.Fatalf("%d segments are left", len(a.Segments))
	}
	for range 3000 {
		take(now, 3600*second)
	}
	checkKeyspace(t, s)
}

// The only segment of a shard grows at its place where its block has room, and no record moves.
func TestSmallSegmentGrowsAtItsPlace(t *testing.T) {
	s := newKeyspace(Config{Shards: 1})
	defer s.Close()
	a := &s.shards[0].arena
	var block []byte
	for keys := 0; len(a.Segments) == 0 || len(a.Segments[0].Bytes) < arena.SegmentBytes; keys++ {
		askKey(s, begin, engine.Op{Key: fmt.Appendf(nil, "k%07d", keys), Tokens: 1, Limit: tokenBucket(5, 1, second)})
		if now := a.Segments[0].Bytes; cap(block) >= arena.SegmentBytes && &now[0] != &block[0] {
			t.Fatalf("a block of %d bytes, with room for %d, was replaced by one of %d", len(block), cap(block), len(now))
		}
		block = a.Segments[0].Bytes
	}
	checkKeyspace(t, s)
}

// A large value is replaced by a small one in the room behind it, while memory is short.
func TestLargeValueIsReplaced(t *testing.T) {
	s := newKeyspace(Config{Shards: 1, MaxBytes: 4 << 20})
	defer s.Close()
	a := &s.shards[0].arena
	for i := 0; len(a.Segments) < 6 || a.Room() > 1100; i++ {
		writeValue(s, begin, fmt.Sprint("a:", i), 960)
	}
	for size := 100_000; size > 90_000; size -= 997 { // with more and less room behind it
		if !writeValue(s, begin, "big", size) {
			t.Fatal("no room for the large value")
		}
		s.SetMaxBytes(1 << 18)
		writeValue(s, begin, "big", 1100)
		s.SetMaxBytes(4 << 20)
		checkKeyspace(t, s)
	}
}

// Large values come and go. The small ones that stay do not keep their memory.
func TestSmallValuesKeepNoLargeSegments(t *testing.T) {
	s := newKeyspace(Config{Shards: 1})
	defer s.Close()
	for i := range 500 {
		writeValue(s, begin, fmt.Sprint("big:", i), 100_000)
		writeValue(s, begin, fmt.Sprint("small:", i), 1000)
		askKey(s, begin, engine.Op{Verb: engine.Delete, Key: fmt.Append(nil, "big:", i)})
	}
	if s.Bytes() > 1<<20 {
		t.Errorf("%d bytes for 500 KB", s.Bytes())
	}
	checkKeyspace(t, s)
}

// Shards share the numbers of limits: one that is given away may be another limit's at once.
func TestNumbersOfLimitsAreUsedAgain(t *testing.T) {
	s := newKeyspace(Config{Shards: 4})
	defer s.Close()
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 20_000 {
				limit := tokenBucket(int64(1000+i*4+g), 1, 3600*second)
				if (i+g)%2 == 0 {
					limit = limits.Limit{Algorithm: limits.SlidingLog, Capacity: int64(1000 + i*4 + g), Rate: limits.Rate{Tokens: 0, Period: 3600 * second}}
				}
				askKey(s, begin, engine.Op{Key: fmt.Append(nil, "k:", g, ":", i), Tokens: 1, Limit: limit})
				askKey(s, begin, engine.Op{Verb: engine.Delete, Key: fmt.Append(nil, "k:", g, ":", i-1)})
			}
		})
	}
	wait.Wait()
	checkKeyspace(t, s)
}

// Logs that grow while memory is short do not get a segment each.
func TestGrowingLogsShareSegments(t *testing.T) {
	s := newKeyspace(Config{Shards: 1, MaxBytes: 1 << 20})
	defer s.Close()
	log := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 100, Rate: limits.Rate{Tokens: 0, Period: 3600 * second}}
	keys := 0
	for askKey(s, begin, engine.Op{Key: fmt.Append(nil, "k:", keys), Tokens: 1, Limit: log}).Status == engine.OK {
		keys++
	}
	now := begin
	for range 20 {
		for i := range keys {
			now += 1000
			askKey(s, now, engine.Op{Key: fmt.Append(nil, "k:", i), Tokens: 1, Limit: log})
		}
	}
	segments := 0
	s.shards[0].arena.Each(func(int, *arena.Segment) { segments++ })
	if segments > 300 {
		t.Errorf("%d segments for a megabyte", segments)
	}
	checkKeyspace(t, s)
}

// A large segment whose only record is gone is not made smaller at its place: it is given back as a whole.
func TestLargeOnlySegmentIsReplaced(t *testing.T) {
	s := newKeyspace(Config{Shards: 1})
	defer s.Close()
	writeValue(s, begin, "big", 200_000)
	askKey(s, begin, engine.Op{Verb: engine.Delete, Key: []byte("big")})
	writeValue(s, begin, "small", 100)
	checkKeyspace(t, s)
}
