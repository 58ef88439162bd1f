//go:build linux && !goroutines

package netio

import (
	"errors"
	"net"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// epollConn is a connection of an epollLoop.
type epollConn struct {
	loop    *epollLoop
	fd      int
	session interface {
		ServeInput(in []byte) (over bool)
		TakesInput() bool
		HoldsInput() bool
	}
	sendsMore func(sent int) bool // see conn.Session.SendsMore
	onClose   func()
	pending   int         // bytes among the loop's pending writes
	unsent    unsent      // before the pending ones
	woken     atomic.Bool // its turn is still to come
	resting   bool        // its input is left to the kernel
	failed    bool        // nothing can be sent
	ended     bool        // nothing more is received
	closed    bool
}

const (
	// maxSentBytes bounds each send of a reply that the kernel did not take whole at first. Such a send takes some tens
	// of microseconds.
	maxSentBytes = 256 << 10
	// leastSentBytes is sent in a pass even if the share is used up, in a few microseconds. Otherwise a client that
	// reads would be taken for one that does not, if other sessions of its user used up the share of every pass.
	leastSentBytes = 16 << 10
)

const (
	readable = unix.EPOLLIN | unix.EPOLLRDHUP
	writable = unix.EPOLLOUT
)

// happen handles what epoll reports. Errors and the end of the stream are found by reading.
func (c *epollConn) happen(events uint32) {
	if events&writable != 0 {
		c.sendUnsent()
	}
	if events&^writable == 0 || c.closed {
		return
	}
	// A client may send all that it has to say, close its side of the stream, and read: the end of its input comes after the commands before.
	mustWait := !c.session.TakesInput() || events&unix.EPOLLRDHUP != 0 && c.session.HoldsInput()
	if mustWait && events&(unix.EPOLLERR|unix.EPOLLHUP) == 0 {
		c.rest(true)
		return
	}
	n, err := receiveNow(c.fd, c.loop.input[:])
	switch {
	case n > 0:
		c.serve(c.loop.input[:n])
	case err == nil || !isTemporary(err): // the end of the stream
		c.ended = true
		c.close()
	}
}

// serve lets the session handle input, or go on without any.
func (c *epollConn) serve(in []byte) {
	if c.closed {
		return
	}
	if c.session.ServeInput(in) {
		c.close()
		return
	}
	if c.resting && c.session.TakesInput() {
		c.rest(false)
	}
}

// rest makes the loop ignore input of the connection, or notice it again.
func (c *epollConn) rest(on bool) {
	c.resting = on
	c.watch()
}

// watch tells epoll which events of the connection the loop waits for now.
func (c *epollConn) watch() {
	events := uint32(readable)
	if c.resting {
		events = 0
	}
	if c.unsent.bytes > 0 {
		events |= writable
	}
	c.check(c.loop.watch(unix.EPOLL_CTL_MOD, c.fd, events))
}

// wake lets the session continue. Any goroutine may call it.
func (c *epollConn) wake() {
	if c.woken.Swap(true) {
		return
	}
	l := c.loop
	l.mu.Lock()
	l.wakes = append(l.wakes, c)
	l.interrupt()
	l.mu.Unlock()
}

// Write implements conn.ReplyConn. An error of a write that waits closes the connection later.
func (c *epollConn) Write(b []byte) (int, error) {
	if c.failed {
		return 0, net.ErrClosed
	}
	c.loop.writes.add(c, b)
	return len(b), nil
}

// WriteFinal implements conn.ReplyConn: the kernel holds the bytes back until the end of the stream is there too, and
// sends both in one segment. A client that has read the replies then knows that no more can be asked here.
func (c *epollConn) WriteFinal(b []byte) (n int, err error) {
	c.loop.writes.flush()
	_ = unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_CORK, 1) // of a unix socket there is nothing to hold back
	c.send(b)
	if c.Unsent() == 0 {
		_ = unix.Shutdown(c.fd, unix.SHUT_WR)
	}
	_ = unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_CORK, 0)
	return len(b), nil
}

// Unsent implements conn.ReplyConn. Pending writes do not count: they are few, and wait for no client.
func (c *epollConn) Unsent() int { return c.unsent.bytes }

// send gives bytes to the kernel, and keeps the rest.
func (c *epollConn) send(b []byte) {
	switch {
	case c.closed || c.failed:
		return
	case c.unsent.bytes > 0:
		c.unsent.add(b)
		return
	}
	n, err := sendNow(c.fd, b)
	c.check(err)
	if n < len(b) && !c.failed {
		c.unsent.add(b[n:])
		c.watch()
	}
}

// sendUnsent goes on with unsent replies, as far as the share of the session's owner allows in this pass, or a little
// if it is used up. The loop hears in the next pass that the kernel takes more.
func (c *epollConn) sendUnsent() {
	most := maxSentBytes
	if !c.sendsMore(0) {
		most = leastSentBytes
	}
	for c.unsent.bytes > 0 {
		first := c.unsent.first()
		n, err := sendNow(c.fd, first[:min(len(first), most)])
		c.unsent.drop(n)
		more := c.sendsMore(n)
		if err != nil {
			c.check(err)
			return
		}
		if !more && c.unsent.bytes > 0 {
			return
		}
	}
	c.watch()
	c.wake() // its session may wait for its client to read
}

// check closes the connection at the end of the turn after an error. The connection may be in use until then.
func (c *epollConn) check(err error) {
	if err != nil && !isTemporary(err) && !c.failed {
		c.failed = true
		c.loop.failed = append(c.loop.failed, c)
	}
}

// isTemporary reports that the kernel takes or has nothing at the moment.
func isTemporary(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) }

// close ends the connection, after a last attempt to send its replies.
func (c *epollConn) close() {
	if c.closed {
		return
	}
	if c.pending > 0 {
		c.loop.writes.flush()
	}
	c.closed = true
	if c.unsent.bytes > 0 {
		_, _ = sendNow(c.fd, c.unsent.first())
	}
	delete(c.loop.conns, c.fd)
	// If input is left unread, the kernel resets the connection, and the client may lose the last reply.
	if !c.failed && !c.ended {
		_ = unix.Shutdown(c.fd, unix.SHUT_WR)
		discardUnread(c.fd)
	}
	_ = unix.Close(c.fd)
	c.onClose()
}
