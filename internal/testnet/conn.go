package testnet

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipe is one direction of a connection.
type pipe struct {
	net      *Net
	from, to string

	mu        sync.Mutex
	changed   *sync.Cond
	chunks    []chunk
	size      int
	closed    bool
	stuck     bool      // something was too large: nothing after it arrives
	aborted   bool      // by the reader's end, whose reads fail at once
	readUntil time.Time // deadlines
	sendUntil time.Time
}

type chunk struct {
	due  time.Time
	data []byte
}

const pipeBytes = 1 << 20

func newPipe(m *Net, from, to string) *pipe {
	p := &pipe{net: m, from: from, to: to}
	p.changed = sync.NewCond(&p.mu)
	m.mu.Lock()
	m.pipes[p] = struct{}{}
	m.mu.Unlock()
	return p
}

func (p *pipe) stir() {
	p.mu.Lock()
	p.changed.Broadcast()
	p.mu.Unlock()
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		now := time.Now()
		switch {
		case p.aborted:
			return 0, net.ErrClosed
		case !p.readUntil.IsZero() && !now.Before(p.readUntil):
			return 0, os.ErrDeadlineExceeded
		case len(p.chunks) > 0 && !now.Before(p.chunks[0].due) && !p.net.isCut(p.from, p.to):
			n := copy(b, p.chunks[0].data)
			if p.chunks[0].data = p.chunks[0].data[n:]; len(p.chunks[0].data) == 0 {
				p.chunks = p.chunks[1:]
			}
			p.size -= n
			p.changed.Broadcast()
			return n, nil
		case p.closed && len(p.chunks) == 0 && !p.net.isCut(p.from, p.to):
			return 0, io.EOF
		}
		p.changed.Wait()
	}
}

func (p *pipe) write(b []byte) (int, error) {
	delay, tooLarge := p.net.delayOf(p.from, p.to), p.net.isTooLarge(p.from, p.to, len(b))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuck = p.stuck || tooLarge
	for {
		switch now := time.Now(); {
		case p.closed:
			return 0, io.ErrClosedPipe
		case !p.sendUntil.IsZero() && !now.Before(p.sendUntil):
			return 0, os.ErrDeadlineExceeded
		case p.stuck:
			return len(b), nil
		case p.size < pipeBytes:
			due := now.Add(delay)
			if n := len(p.chunks); n > 0 && p.chunks[n-1].due.After(due) {
				due = p.chunks[n-1].due
			}
			p.chunks = append(p.chunks, chunk{due, append([]byte(nil), b...)})
			p.size += len(b)
			p.changed.Broadcast()
			if due.After(now) {
				time.AfterFunc(due.Sub(now), p.stir)
			}
			return len(b), nil
		}
		p.changed.Wait()
	}
}

func (p *pipe) close() {
	p.mu.Lock()
	p.closed = true
	p.changed.Broadcast()
	p.mu.Unlock()
	p.net.mu.Lock()
	delete(p.net.pipes, p)
	p.net.mu.Unlock()
}

func (p *pipe) deadline(which *time.Time, t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*which = t
	p.changed.Broadcast()
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), p.stir)
	}
}

type conn struct {
	in, out *pipe
	peer    string
	mu      sync.Mutex
	closed  bool
}

func (c *conn) Read(b []byte) (int, error) {
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	n, err := c.in.read(b)
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }

func (c *conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.out.close()
	c.in.abort()
	return nil
}

// abort ends the reading end: what still arrives is of no use, and a writer learns of it as by a reset.
func (p *pipe) abort() {
	p.mu.Lock()
	p.chunks, p.size, p.aborted = nil, 0, true
	p.mu.Unlock()
	p.close()
}

func (c *conn) LocalAddr() net.Addr  { return addr(c.in.to) }
func (c *conn) RemoteAddr() net.Addr { return addr(c.peer) }
func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}
func (c *conn) SetReadDeadline(t time.Time) error { c.in.deadline(&c.in.readUntil, t); return nil }
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.deadline(&c.out.sendUntil, t)
	return nil
}
