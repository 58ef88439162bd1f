package keyspace

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// touched is the memory that entries take of the system: room at the end of an arena costs nothing until it is used.
func (s *Keyspace) touched() (bytes int64) {
	for i := range s.shards {
		_, used, _ := s.shards[i].arena.Totals()
		bytes += int64(used) + s.shards[i].index.Bytes()
	}
	return bytes
}

// A key of 16 bytes takes at most 72 bytes in all with an algorithm whose state has a fixed size. At full size the test
// takes a million keys.
func TestMemoryPerKey(t *testing.T) {
	shards := min(testsize.Pick(256, 1024), 1024)
	for _, one := range limits.Algorithms() {
		s := newKeyspace(Config{Shards: shards})
		l := limits.Limit{Algorithm: one, Capacity: 100, Rate: limits.Rate{Tokens: 0, Period: 3600 * second}}
		if one.HasRate() {
			l.Rate.Tokens = 1
		}
		if one == limits.SlidingSegments {
			l.Segments = 20
		}
		if one == limits.Balance || one == limits.Penalty {
			continue // it has no state before a payment, or a denial
		}
		keys := testsize.Pick(50_000, 500_000) // in the shards of a quick run as many as 200,000 in all shards
		if algorithm.Table[one].Bytes == 0 {
			keys /= 10
		}
		for i := range keys {
			askKey(s, begin, engine.Op{Key: numberedKey(i), Limit: l, Tokens: 1, Who: []byte("worker-1")})
		}
		perKey := float64(s.touched()) / float64(keys)
		t.Logf("%s: %.1f bytes a key", one, perKey)
		if algorithm.Table[one].Bytes != 0 && perKey > float64(40+algorithm.Table[one].Bytes) {
			t.Errorf("%s takes %.1f bytes a key", one, perKey)
		}
		s.Close()
	}
}
