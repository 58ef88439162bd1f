package comparison

import (
	"fmt"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// TestMemory checks the table of the sizes of a 16-byte key's entry, by the store's own accounting.
func TestMemory(t *testing.T) {
	contents := []struct {
		name, use string
		ask       func(i int) engine.Op
		times     int
	}{
		{"GCRA, token bucket, both leaky buckets", "any", asking(meter(limits.TokenBucket, 200)), 1},
		{"fixed window", "any", asking(window(limits.FixedWindow, limits.Aligned)), 1},
		{"sliding window counter", "any", asking(window(limits.SlidingWindow, limits.FromFirst)), 1},
		{"sliding window in segments", "20 segments", asking(segments(20)), 1},
		{"", "84 segments", asking(segments(84)), 1},
		{"sliding window log", "1 request in the window", asking(logOf(100)), 1},
		{"", "1,000 requests, limit 1,000", asking(logOf(1000)), 1000},
		{"concurrency", "1 holder with a name of 16 bytes", asking(leasesOf()), 1},
		{"", "1,000 holders", asking(leasesOf()), 1000},
		{"fair share", "1 active member with a name of 16 bytes", asking(meter(limits.FairShare, 100_000)), 1},
		{"", "1,000 active members", asking(meter(limits.FairShare, 100_000)), 1000},
		{"class of a tree", "class without others under it", askingOne, 1},
		{"", "root with 1 registered class", askingRoot, 1},
		{"", "root with 1,000 registered classes", askingRoot, 1000},
		{"adaptive rate", "any", asking(adaptive()), 1},
	}
	var rows []string
	for _, c := range contents {
		rows = append(rows, fmt.Sprintf("| %s | %s | %d |", c.name, c.use, bytesOf(c.ask, c.times)))
	}
	checkTable(t, "| algorithm | in use | bytes |", rows)
}

func meter(a limits.Algorithm, capacity int64) limits.Limit {
	return limits.Limit{Algorithm: a, Capacity: capacity, Rate: limits.Rate{Tokens: 100, Period: second}}
}

func window(a limits.Algorithm, span limits.Span) limits.Limit {
	return limits.Limit{Algorithm: a, Span: span, Capacity: 200, Rate: limits.Rate{Period: 2 * second}}
}

func segments(n uint8) limits.Limit {
	return limits.Limit{Algorithm: limits.SlidingSegments, Segments: n, Capacity: 100, Rate: limits.Rate{Period: int64(time.Hour)}}
}

func logOf(limit int64) limits.Limit {
	return limits.Limit{Algorithm: limits.SlidingLog, Capacity: limit, Rate: limits.Rate{Period: int64(time.Hour)}}
}

func leasesOf() limits.Limit {
	return limits.Limit{Algorithm: limits.Concurrency, Capacity: 10_000, Rate: limits.Rate{Period: int64(time.Hour)}}
}

func adaptive() limits.Limit {
	l := meter(limits.Adaptive, 200)
	l.Least = 1
	return l
}

var measuredKey = []byte("a key, 16 bytes.")

// asking makes requests of different holders or members.
func asking(limit limits.Limit) func(i int) engine.Op {
	return func(i int) engine.Op {
		op := engine.Op{Key: measuredKey, Limit: limit, Tokens: 1}
		if limit.Algorithm.NeedsWho() {
			op.Who = fmt.Appendf(nil, "holder %09d", i)
		}
		return op
	}
}

// askingOne asks the class with the key, and askingRoot different classes under it.
func askingOne(int) engine.Op    { return tree(measuredKey, []byte("root")) }
func askingRoot(i int) engine.Op { return tree(fmt.Append(nil, "class ", i), measuredKey) }

func tree(class, root []byte) engine.Op {
	limit := meter(limits.Class, 10_000)
	assured := engine.AppendAssured(nil, 1, limit.Rate)
	return engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: class, Who: assured, Limit: limit, Tokens: 1}, {Key: root, Limit: limit, Tokens: 1}}}
}

func bytesOf(ask func(i int) engine.Op, times int) int64 {
	keys := store.New(store.Config{Shards: 1})
	defer keys.Close()
	results := make([]engine.Result, 1)
	for i := range times {
		if keys.Apply(firstArrival+int64(i), []engine.Op{ask(i)}, results); !results[0].Allowed {
			panic("a request was denied")
		}
	}
	keys.Apply(firstArrival+int64(times), []engine.Op{{Verb: engine.Look, Key: measuredKey}}, results)
	return results[0].Bytes
}
