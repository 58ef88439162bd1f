package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/stintdb/stint/engine"
)

// memoryTable shows the size of the entry of a 16-byte key, by the store's own accounting.
func memoryTable() string {
	var out strings.Builder
	out.WriteString("| algorithm | in use | bytes |\n|---|---|---|\n")
	rows := []struct {
		name, use string
		limit     engine.Limit
		times     int
	}{
		{"GCRA, token bucket, both leaky buckets", "any", meter(engine.TokenBucket, 200), 1},
		{"fixed window", "any", window(engine.FixedWindow, engine.Aligned), 1},
		{"sliding window counter", "any", window(engine.SlidingWindow, engine.FromFirst), 1},
		{"sliding window log", "1 request in the window", logOf(100), 1},
		{"", "1,000 requests, limit 1,000", logOf(1000), 1000},
		{"concurrency", "1 holder with a name of 16 bytes", leasesOf(), 1},
		{"", "1,000 holders", leasesOf(), 1000},
	}
	for _, r := range rows {
		fmt.Fprintf(&out, "| %s | %s | %d |\n", r.name, r.use, bytesOf(r.limit, r.times))
	}
	return out.String()
}

func logOf(limit int64) engine.Limit {
	return engine.Limit{Algorithm: engine.SlidingLog, Capacity: limit, Rate: engine.Rate{Period: int64(time.Hour)}}
}

func leasesOf() engine.Limit {
	return engine.Limit{Algorithm: engine.Concurrency, Capacity: 10_000, Rate: engine.Rate{Period: int64(time.Hour)}}
}

func bytesOf(limit engine.Limit, times int) int64 {
	store := engine.New(engine.Config{Shards: 1})
	defer store.Close()
	results := make([]engine.Result, 1)
	key := []byte("a key, 16 bytes.")
	for i := range times {
		op := engine.Op{Key: key, Limit: limit, Tokens: 1}
		if limit.Algorithm == engine.Concurrency {
			op.Who = fmt.Appendf(nil, "holder %09d", i)
		}
		store.Apply(firstArrival+int64(i), []engine.Op{op}, results)
	}
	store.Apply(firstArrival+int64(times), []engine.Op{{Verb: engine.Look, Key: key}}, results)
	return results[0].Bytes
}
