package data_test

import (
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// BenchmarkLargeValues changes or reads one element of values of several sizes.
func BenchmarkLargeValues(b *testing.B) {
	for _, size := range []int{100, 10_000, 100_000} {
		for name, c := range map[string]struct{ fill, first, second func(i int) []string }{
			"LPUSH,LPOP":            {list, func(int) []string { return []string{"LPUSH", "l", "element:12"} }, func(int) []string { return []string{"LPOP", "l"} }},
			"RPUSH,RPOP":            {list, func(int) []string { return []string{"RPUSH", "l", "element:12"} }, func(int) []string { return []string{"RPOP", "l"} }},
			"SADD,SREM":             {set, func(i int) []string { return []string{"SADD", "s", fmt.Sprint("x", i)} }, func(i int) []string { return []string{"SREM", "s", fmt.Sprint("x", i)} }},
			"HSET,HDEL":             {hash, func(i int) []string { return []string{"HSET", "h", fmt.Sprint("x", i), "1"} }, func(i int) []string { return []string{"HDEL", "h", fmt.Sprint("x", i)} }},
			"ZADD,ZREM":             {zset, func(i int) []string { return []string{"ZADD", "z", fmt.Sprint(i * 7919 % size), fmt.Sprint("x", i)} }, func(i int) []string { return []string{"ZREM", "z", fmt.Sprint("x", i)} }},
			"ZADD,ZREMRANGEBYSCORE": {zset, func(i int) []string { return []string{"ZADD", "z", "-5", fmt.Sprint("x", i)} }, func(i int) []string { return []string{"ZREMRANGEBYSCORE", "z", "-5", "-5"} }},
			"LINDEX,ZRANK":          {both, func(i int) []string { return []string{"LINDEX", "l", fmt.Sprint(i % size)} }, func(i int) []string { return []string{"ZRANK", "z", fmt.Sprintf("element:%09d", i%size)} }},
			"ZRANGE 10":             {zset, func(i int) []string { return []string{"ZRANGE", "z", fmt.Sprint(i % size), fmt.Sprint(i%size + 9)} }, func(i int) []string { return []string{"ZCARD", "z"} }},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				s := store.New(store.Config{Commands: &data.Executor{}})
				defer s.Close()
				for i := range size {
					for words := c.fill(i); len(words) > 0; words = words[min(4, len(words)):] {
						carryOut(b, s, 1e18, words[:min(4, len(words))])
					}
				}
				ops := make([]engine.Op, 0, 2048)
				for i := range 1024 {
					ops = append(append(ops, opsOf(b, c.first(i))...), opsOf(b, c.second(i))...)
				}
				results := make([]engine.Result, 1)
				b.ReportMetric(float64(s.Bytes()), "bytes")
				b.ResetTimer()
				for i := 0; b.Loop(); i++ {
					for j := range 2 {
						results[0].Reply = results[0].Reply[:0]
						s.Apply(int64(1e18+i), ops[(2*i+j)%2048:(2*i+j)%2048+1], results)
					}
				}
			})
		}
	}
}

func list(i int) []string { return []string{"RPUSH", "l", fmt.Sprintf("element:%09d", i)} }
func set(i int) []string  { return []string{"SADD", "s", fmt.Sprintf("element:%09d", i)} }
func hash(i int) []string { return []string{"HSET", "h", fmt.Sprintf("element:%09d", i), "1"} }
func zset(i int) []string {
	return []string{"ZADD", "z", fmt.Sprint(i), fmt.Sprintf("element:%09d", i)}
}
func both(i int) []string {
	return append(append([]string{}, zset(i)...), list(i)...)
}

func opsOf(t testing.TB, words []string) []engine.Op {
	r := &command.Request{}
	r.SetBounds(command.Bounds{MaxKeyBytes: 4096, MaxLogLimit: 100})
	for _, w := range words {
		r.Args = append(r.Args, []byte(w))
	}
	row, err := command.Find(r.Args)
	if err == nil {
		err = row.Parse(r)
	}
	if err != nil {
		t.Fatalf("%.100q: %v", words, err)
	}
	return r.Ops
}
