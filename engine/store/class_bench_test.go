package store

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// The cost of a grant in a tree of two to four levels, beside that of a token bucket.
func BenchmarkTree(b *testing.B) {
	names := []string{"class", "team", "company", "root"}
	classes := []limits.Limit{bucketOf(limits.Class, limits.MaxTokens, limits.MaxTokens, sec), bucketOf(limits.Class, limits.MaxTokens, limits.MaxTokens, sec), bucketOf(limits.Class, limits.MaxTokens, limits.MaxTokens, sec), bucketOf(limits.Class, limits.MaxTokens, limits.MaxTokens, sec)}
	for _, levels := range []int{1, 2, 3, 4} {
		op := engine.Op{Key: []byte("k"), Limit: bucketOf(limits.TokenBucket, limits.MaxTokens, limits.MaxTokens, sec), Tokens: 1}
		name := "bucket"
		if levels > 1 {
			op, name = treeOp(1, bucketOf(limits.TokenBucket, 10, 10, sec), names, classes[:levels]...), []string{2: "two levels", 3: "three", 4: "four"}[levels]
		}
		b.Run(name, func(b *testing.B) {
			s, ops, results := New(Config{}), []engine.Op{op}, make([]engine.Result, 1)
			defer s.Close()
			b.ReportAllocs()
			for i := range b.N {
				s.Apply(epoch+int64(i)*1000, ops, results)
			}
			if !results[0].Allowed {
				b.Fatalf("%+v", results[0])
			}
		})
	}
}
