package fsm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
	"github.com/stintdb/stint/engine/store"
)

// BenchmarkApply applies an entry of another process, with calls of several operations, on 100,000 keys.
func BenchmarkApply(b *testing.B) {
	for _, size := range []struct{ calls, ops int }{{100, 1}, {16, 2}, {50, 16}} {
		b.Run(fmt.Sprintf("calls=%d/ops=%d", size.calls, size.ops), func(b *testing.B) {
			f := newTestFSM(b)
			f.Store = store.New(store.Config{Replicated: true})
			defer f.Store.Close()
			entries := make([][]byte, 4000)
			for i := range entries {
				entry := make([]byte, EntryHead)
				for range size.calls {
					var batch engine.Batch
					for range size.ops {
						batch.Ops = append(batch.Ops, acquire(fmt.Sprintf("key:%012d", rand.IntN(100_000)), 100_000, 1))
					}
					entry = call.AppendGroup(entry, &opcodec.Writer{}, &batch, nil)
				}
				StampEntry(entry, KindDecisions, time.Now().UnixNano(), 1, 1)
				entries[i] = entry
			}
			n := 0
			for b.Loop() {
				n++
				f.Apply(&raft.Log{Index: uint64(n), Data: entries[n%len(entries)]})
			}
			if f.Broken != nil {
				b.Fatal(f.Broken)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*size.calls*size.ops), "ns/operation")
		})
	}
}
