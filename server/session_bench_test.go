package server

import (
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/config"
)

// BenchmarkSession measures what a command costs between the socket's bytes: parse, decide, answer.
func BenchmarkSession(b *testing.B) {
	for _, c := range []struct{ name, format string }{
		{"PING", "*1\r\n$4\r\nPING\r\n%.0s"},
		{"CL.THROTTLE", "*5\r\n$11\r\nCL.THROTTLE\r\n$16\r\nkey:%s\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n"},
		{"TB.ACQUIRE", "*4\r\n$10\r\nTB.ACQUIRE\r\n$16\r\nkey:%s\r\n$2\r\n15\r\n$5\r\n30/60\r\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			store, clock := engine.New(engine.Options{}), NewClock()
			defer store.Close()
			h := New(Options{Config: config.Default(), Decider: &Local{Store: store, Clock: clock}, Keys: store, Clock: clock,
				Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			s := h.newSession("test", "test", func() {})
			const pipeline = 64
			var inputs [][]byte
			for i := range 2000 {
				var in []byte
				for j := range pipeline {
					in = fmt.Appendf(in, c.format, fmt.Sprintf("%012d", (i*pipeline+j)*7919%100_000))
				}
				inputs = append(inputs, in)
			}
			ws, cfg := h.borrow(), h.Config()
			b.ReportAllocs()
			for i := 0; i < b.N; i += pipeline {
				ws.out.Buf = ws.out.Buf[:0]
				s.feed(inputs[i/pipeline%len(inputs)], ws, cfg)
			}
		})
	}
}
