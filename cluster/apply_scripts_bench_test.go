package cluster

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command/data"
)

// BenchmarkApplyScripts applies entries of the log as a follower does: 50 pipelines of 16 calls of a script of the
// benchmarks, or of as many requests to a limiter, for 100,000 keys.
func BenchmarkApplyScripts(b *testing.B) {
	for _, load := range []struct{ name, args string }{
		{"limiter", ""}, {"gcra", "1000000 1000000 60"}, {"token-bucket", "1000000 1000000 60"}, {"sliding-log", "86400 100 %d"}, {"counter", "60 1000000"},
	} {
		b.Run(load.name, func(b *testing.B) {
			f := fsm.New(fsm.Config{
				Store: store.New(store.Config{Replicated: true, Commands: &data.Executor{}}), Clock: clock.New(time.Now),
				TakeCalls: func(uint64) []*call.Call { return nil }, Knows: fsm.NewFormats(fsm.Additions).Newest, Fail: func(err error) { b.Error(err) },
			})
			defer f.Store.Close()
			f.Store.OwnTimes.SetDistinct(true)
			body, digest := []byte(nil), ""
			if load.args != "" {
				var err error
				if body, err = os.ReadFile("../bench/scripts/" + load.name + ".lua"); err != nil {
					b.Fatal(err)
				}
				load := operation("SCRIPT", "LOAD", string(body))
				f.Store.Apply(0, []engine.Op{load}, make([]engine.Result, 1))
				digest = scriptcache.Digest(body)
			}
			random := rand.New(rand.NewPCG(1, 2))
			const groups, pipeline = 50, 16
			entries := make([][]byte, 25)
			for i := range entries {
				entry := make([]byte, fsm.EntryHead)
				for range groups {
					var batch engine.Batch
					for range pipeline {
						key := fmt.Sprintf("key:%012d", random.IntN(100_000))
						op := acquire(key, 100_000, 1)
						if digest != "" {
							args := strings.ReplaceAll(load.args, "%d", fmt.Sprint(random.IntN(1000)))
							op = operation(append([]string{"EVALSHA", digest, "1", key}, strings.Fields(args)...)...)
						}
						batch.Ops = append(batch.Ops, op)
					}
					entry = call.AppendGroup(entry, &opcodec.Writer{}, &batch, nil)
				}
				fsm.StampEntry(entry, fsm.KindDecisions, time.Now().UnixNano(), 1, 1)
				entries[i] = entry
			}
			n := 0
			apply := func() {
				n++
				f.Apply(&raft.Log{Index: uint64(n), Data: entries[n%len(entries)]})
			}
			for range entries {
				apply()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += groups * pipeline {
				apply()
			}
		})
	}
}
