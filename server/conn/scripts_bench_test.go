package conn

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/conn/wait"
)

// BenchmarkScripts measures a call of each script of the benchmarks, in pipelines, between the socket's bytes.
func BenchmarkScripts(b *testing.B) {
	for _, script := range []struct{ name, args string }{
		{"gcra", "1000000 1000000 60"}, {"token-bucket", "1000000 1000000 60"}, {"sliding-log", "86400 100 %d"}, {"counter", "60 1000000"},
	} {
		body, err := os.ReadFile("../../bench/scripts/" + script.name + ".lua")
		if err != nil {
			b.Fatal(err)
		}
		for _, commands := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/%d", script.name, commands), func(b *testing.B) {
				keys, clock := store.New(store.Config{Commands: &data.Executor{}}), clock.New(0)
				defer keys.Close()
				h := newEnv(b, keys, clock)
				s := h.NewSession("test", "test", func() {})
				batch, cfg := h.getBatch(), h.config()
				in := frame([]byte("SCRIPT"), []byte("LOAD"), body)
				turn := func() {
					batch.out.Buf = batch.out.Buf[:0]
					s.receive(in, batch, cfg)
					for !s.ready() { // others have their turn, or the script is decided beside the loop
						s.public.Wait.Happen(wait.ForTurn)
						runtime.Gosched()
						s.receive(nil, batch, cfg)
					}
					h.count(batch)
				}
				turn()
				in = nil
				for i := range commands {
					args := strings.ReplaceAll(script.args, "%d", fmt.Sprint(i))
					in = append(in, frames(fmt.Sprintf("EVALSHA %s 1 key:%012d %s", scriptcache.Digest(body), i*7919%100_000, args))...)
				}
				for range 400 {
					turn()
				}
				if strings.Contains(string(batch.out.Buf), "ERR") {
					b.Fatalf("%.200q", batch.out.Buf)
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := 0; i < b.N; i += commands {
					turn()
				}
			})
		}
	}
}
