package server

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/config"
)

// BenchmarkTurn measures a turn of a connection, with one command and with a pipeline of them, of which all are granted or
// all denied: what recording costs is the difference to the same turns without it.
func BenchmarkTurn(b *testing.B) {
	for _, commands := range []int{1, 16, 64} {
		for _, mode := range []struct{ name, command string }{{"granted", "TB.ACQUIRE key:%d 1000000000 1000000000"}, {"denied", "TB.ACQUIRE key:%d 1 1/365d"}} {
			b.Run(fmt.Sprintf("%s/%d", mode.name, commands), func(b *testing.B) {
				store, clock := engine.New(engine.Options{}), NewClock()
				defer store.Close()
				h := New(Options{Config: config.Default(), Decider: &Local{Store: store, Clock: clock}, Keys: store, Clock: clock, Log: slog.New(slog.DiscardHandler)})
				defer h.waits.stop()
				h.denied.Adapt(1_000_000, 1e9) // as at a high rate
				s := h.newSession("test", "test", func() {})
				ws, cfg := h.borrow(), h.Config()
				var in []byte
				for i := range commands {
					in = append(in, frames(fmt.Sprintf(mode.command, i))...)
				}
				turn := func() {
					ws.out.Buf = ws.out.Buf[:0]
					s.arrive(in, ws, cfg)
					h.count(ws)
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
