//go:build linux && !goroutines

package server

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/registry"
	"github.com/stintdb/stint/server/conn/wait"
)

// A client that never reads its replies is paused when too many are waiting, and closed later; until then the server's
// memory is bounded, and others are served.
func TestClientThatDoesNotRead(t *testing.T) {
	for name, command := range map[string][]byte{
		"echo": frame("ECHO", strings.Repeat("x", 10_000)),
		"docs": frames("COMMAND DOCS"), // a few bytes in, many out
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, func(c *config.Config) { c.OutputBufferBytes, c.MaxBulkBytes = 256<<10, 16<<10 })
			other := h.dial(t)
			deaf := h.dial(t)
			if err := deaf.SetReadBuffer(4096); err != nil {
				t.Fatal(err)
			}
			heap := heapBytes()
			pipeline := bytes.Repeat(command, 1+50_000/len(command))
			go func() {
				for err := error(nil); err == nil; {
					_, err = deaf.Write(pipeline) // which waits once the server reads no more
				}
			}()
			eventually(t, "it is paused", func() bool {
				return slices.ContainsFunc(h.env.Registry.All(), func(c *registry.Connection) bool { return c.Awaits(wait.ForReader) })
			})
			expect(t, other, frames("PING"), "+PONG\r\n")
			// What the server allocates while garbage is collected counts, until it has come to rest.
			eventually(t, "the heap has grown by at most 8 MB", func() bool { return heapBytes()-heap <= 8<<20 })
			h.clock.Advance(h.Config().OutputTimeout + time.Second)
			eventually(t, "it has gone", func() bool { return h.env.Registry.Count() == 1 })
			expect(t, other, frames("PING"), "+PONG\r\n")
			if n := h.env.Stats.SlowReaders.Load(); n != 1 {
				t.Errorf("%d clients are counted as slow readers, want 1", n)
			}
		})
	}
}
