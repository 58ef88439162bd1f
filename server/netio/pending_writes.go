//go:build linux && !goroutines

package netio

// pendingWrites are the replies of one event loop that wait until the loop has served every connection that was ready,
// as Redis does. The clients then go on together and wake the loop less often, and the code that decides and the
// kernel's code that sends do not drive each other out of the processor's caches.
type pendingWrites struct {
	conns []*epollConn
	bytes []byte // the replies, in the order of conns
}

const (
	maxPendingBytes = 64 << 10 // of one loop
	maxPendingReply = 4 << 10  // a larger one is not worth a copy
)

// add sends a reply at the end of the turn. A connection's second one, a large one, and one beyond the bound are sent
// at once, after those that wait.
func (w *pendingWrites) add(c *epollConn, reply []byte) {
	if c.pending > 0 || len(reply) > maxPendingReply || len(w.bytes)+len(reply) > maxPendingBytes {
		w.flush()
	}
	if len(reply) > maxPendingReply {
		c.send(reply)
		return
	}
	c.pending = len(reply)
	w.conns, w.bytes = append(w.conns, c), append(w.bytes, reply...)
}

// flush sends all pending replies.
func (w *pendingWrites) flush() {
	from := 0
	for _, c := range w.conns {
		to := from + c.pending
		c.pending = 0
		c.send(w.bytes[from:to])
		from = to
	}
	clear(w.conns)
	w.conns, w.bytes = w.conns[:0], w.bytes[:0]
}
