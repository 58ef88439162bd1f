package conn

import (
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
)

// BenchmarkTurn measures a turn of a connection, with one command and with a pipeline of them, of which all are granted
// or all denied: what recording costs is the difference to the same turns without it.
func BenchmarkTurn(b *testing.B) {
	for _, commands := range []int{1, 16, 64} {
		for _, mode := range []struct{ name, command string }{{"granted", "TB.ACQUIRE key:%d 1000000000 1000000000"}, {"denied", "TB.ACQUIRE key:%d 1 1/365d"}} {
			b.Run(fmt.Sprintf("%s/%d", mode.name, commands), func(b *testing.B) {
				keys, clock := store.New(store.Config{}), clock.New(0)
				defer keys.Close()
				h := newEnv(b, keys, clock)
				h.TopKeys.Adapt(1_000_000, 1e9) // as at a high rate
				s := h.NewSession("test", "test", func() {})
				batch, cfg := h.getBatch(), h.config()
				var in []byte
				for i := range commands {
					in = append(in, frames(fmt.Sprintf(mode.command, i))...)
				}
				turn := func() {
					batch.out.Buf = batch.out.Buf[:0]
					s.receive(in, batch, cfg)
					h.count(batch)
				}
				turn()
				turn()
				b.ReportAllocs()
				for b.Loop() {
					turn()
				}
			})
		}
	}
}
