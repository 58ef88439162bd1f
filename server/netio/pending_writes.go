package netio

import (
	"context"
	"sync/atomic"

	"github.com/panjf2000/gnet/v2"
	"github.com/stintdb/stint/server/conn"
)

// pendingWrites are the replies of one event loop that wait until the loop has served every connection that was ready, as
// those of Redis do. The clients then go on together and wake the loop less often, and the code that decides and the
// kernel's code that sends do not drive each other out of the processor's caches.
type pendingWrites struct {
	conns []*eventLoopConn
	bytes []byte // the replies, in the order of conns

	// atOnce is the number of further replies that are sent at once: the last turn had few connections, and the end of a wait
	// costs a system call.
	atOnce int
}

const (
	maxPendingBytes = 64 << 10 // of one loop
	maxPendingReply = 4 << 10  // a larger one is not worth a copy
	writesAtOnce    = 64       // after a turn with few connections
	fewTogether     = 8        // from this number of connections on, waiting saves more than it costs
)

// eventLoopConn is the link of a connection on an event loop.
type eventLoopConn struct {
	gnet.Conn
	session *conn.Session
	loop    gnet.EventLoop
	writes  *pendingWrites // of its loop
	pending int            // bytes among them
	wakes   *pendingWakes  // of its loop
	woken   atomic.Bool    // it is among them
	closed  bool
}

// Write implements conn.ReplyConn. An error of a write that waits closes the connection later.
func (l *eventLoopConn) Write(b []byte) (int, error) {
	w := l.writes
	if w.atOnce > 0 {
		w.atOnce--
		return l.Conn.Write(b)
	}
	if l.pending > 0 || len(b) > maxPendingReply || len(w.bytes)+len(b) > maxPendingBytes {
		w.flush()
	}
	if len(b) > maxPendingReply || len(w.conns) == 0 && l.loop.Execute(context.Background(), w) != nil {
		return l.Conn.Write(b)
	}
	l.pending = len(b)
	w.conns, w.bytes = append(w.conns, l), append(w.bytes, b...)
	return len(b), nil
}

// Unsent implements conn.ReplyConn. Pending writes do not count: they are few, and wait for no client.
func (l *eventLoopConn) Unsent() int { return l.OutboundBuffered() }

// end sends the pending replies before the connection closes.
func (l *eventLoopConn) end() {
	l.closed = true
	if l.pending > 0 {
		l.writes.flush()
	}
}

// Run implements gnet.Runnable: the loop has served the connections that were ready.
func (w *pendingWrites) Run(context.Context) error {
	if len(w.conns) < fewTogether {
		w.atOnce = writesAtOnce
	}
	w.flush()
	return nil
}

// flush sends all pending replies. If a write fails, gnet closes that connection, whose own reply is no longer pending.
func (w *pendingWrites) flush() {
	from := 0
	for _, l := range w.conns {
		to := from + l.pending
		l.pending = 0
		_, _ = l.Conn.Write(w.bytes[from:to])
		from = to
	}
	clear(w.conns)
	w.conns, w.bytes = w.conns[:0], w.bytes[:0]
}
