package forward

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/testwake"
)

// The reader of forwarded calls goes on as soon as there is room, and ends with the writer.
func TestReaderWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, other := net.Pipe()
		defer other.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := &followerConn{server: &Server{Ctx: ctx, Now: func() int64 { return 0 }}, conn: conn, wake: make(chan struct{}, 1), stop: make(chan struct{}), writerEnded: make(chan struct{})}
		await := func() { l.awaitRoom() }

		l.inFlight = maxInFlightCalls + 1
		answer := func() { (&forwardedCall{conn: l}).answered() } // each its own: they are used again
		if !testwake.IsWoken(t, await, func() { answer(); answer() }) {
			t.Error("an answer wakes nobody")
		}

		list := &forwardedCall{conn: l}
		list.batch.Results = []engine.Result{{Leases: []engine.Lease{{Holder: make([]byte, maxReadyBytes)}}}}
		list.answered()
		go func() { _, _ = io.Copy(io.Discard, other) }()
		if !testwake.IsWoken(t, await, func() { go l.write() }) {
			t.Error("a list that is sent wakes nobody")
		}

		l.inFlight = maxInFlightCalls + 1
		if !testwake.IsWoken(t, await, func() { close(l.stop) }) || l.awaitRoom() {
			t.Error("the end of the writer wakes nobody")
		}
	})
}
