package store

import (
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// BenchmarkFairShare compares FS.ACQUIRE with TB.ACQUIRE: a flood that asks for twice the rate, by random members. All
// of them are active.
func BenchmarkFairShare(b *testing.B) {
	const names = 1 << 14
	for _, members := range []int{0, 1, 100, engine.MaxMembers} {
		name := fmt.Sprintf("members=%d", members)
		if members == 0 {
			name = "TB"
		}
		b.Run(name, func(b *testing.B) {
			s := New(Config{Shards: 1})
			defer s.Close()
			op := engine.Op{Key: []byte("a key, 16 bytes."), Limit: fairShare(1_000_000, 1_000_000, sec), Tokens: 1}
			if members == 0 {
				op.Limit.Algorithm = limits.TokenBucket
			}
			ops, results := make([]engine.Op, names), make([]engine.Result, names)
			now, random := epoch, uint64(1)
			for i := range ops {
				random = random*6364136223846793005 + 1442695040888963407
				ops[i] = op
				if members > 0 {
					ops[i].Who = fmt.Appendf(nil, "member %09d", int(random>>33)%members)
				}
			}
			run := func(n int) {
				for i := range n {
					s.Apply(now, ops[i%names:i%names+1], results[:1])
					now += 500
				}
			}
			run(2_100_000) // until all have taken, and the pool is empty
			b.ReportAllocs()
			b.ResetTimer()
			run(b.N)
			b.StopTimer()
			if members > 0 {
				look := ask(s, now, engine.Op{Verb: engine.Look, Key: op.Key})
				b.ReportMetric(float64(look.Bytes)/float64(members), "bytes/member")
				list := ask(s, now, engine.Op{Verb: engine.ListMembers, Key: op.Key})
				b.ReportMetric(float64(len(list.Members())), "members")
			}
		})
	}
}
