package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memNet is a network in memory whose links can be slow, or cut one way or both. What is written into a cut link arrives
// when it is mended, as TCP would have it, unless the connection was given up by then.
type memNet struct {
	mu        sync.Mutex
	listeners map[string]*memListener
	cut       map[[2]string]bool
	delay     map[[2]string]time.Duration
	pipes     map[*memPipe]struct{}
}

func newMemNet() *memNet {
	return &memNet{listeners: map[string]*memListener{}, cut: map[[2]string]bool{}, delay: map[[2]string]time.Duration{}, pipes: map[*memPipe]struct{}{}}
}

// setCut cuts or mends what flows from one address to another.
func (m *memNet) setCut(from, to string, cut bool) {
	m.mu.Lock()
	m.cut[[2]string{from, to}] = cut
	pipes := m.all()
	m.mu.Unlock()
	for _, p := range pipes {
		p.stir()
	}
}

func (m *memNet) setDelay(from, to string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delay[[2]string{from, to}] = d
}

func (m *memNet) all() (all []*memPipe) {
	for p := range m.pipes {
		all = append(all, p)
	}
	return all
}

func (m *memNet) isCut(from, to string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cut[[2]string{from, to}]
}

func (m *memNet) delayOf(from, to string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.delay[[2]string{from, to}]
}

// of is the network as the node at an address sees it.
func (m *memNet) of(address string) Network { return memView{m, address} }

type memView struct {
	net  *memNet
	from string
}

func (v memView) Listen(string) (net.Listener, error) {
	l := &memListener{address: v.from, net: v.net, conns: make(chan net.Conn), closed: make(chan struct{})}
	v.net.mu.Lock()
	defer v.net.mu.Unlock()
	v.net.listeners[v.from] = l
	return l, nil
}

func (v memView) Dial(ctx context.Context, to string) (net.Conn, error) {
	for v.net.isCut(v.from, to) || v.net.isCut(to, v.from) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	v.net.mu.Lock()
	l := v.net.listeners[to]
	v.net.mu.Unlock()
	if l == nil {
		return nil, errors.New("connection refused")
	}
	there, back := newMemPipe(v.net, v.from, to), newMemPipe(v.net, to, v.from)
	near, far := &memConn{in: back, out: there, peer: to}, &memConn{in: there, out: back, peer: v.from}
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		near.Close()
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		near.Close()
		return nil, ctx.Err()
	}
}

type memListener struct {
	address string
	net     *memNet
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		if l.net.listeners[l.address] == l {
			delete(l.net.listeners, l.address)
		}
	})
	return nil
}

func (l *memListener) Addr() net.Addr { return peerAddr(l.address) }

// memPipe is one direction of a connection.
type memPipe struct {
	net      *memNet
	from, to string

	mu        sync.Mutex
	changed   *sync.Cond
	chunks    []memChunk
	size      int
	closed    bool
	aborted   bool      // by the reader's end, whose reads fail at once
	readUntil time.Time // deadlines
	sendUntil time.Time
}

type memChunk struct {
	due  time.Time
	data []byte
}

const memPipeBytes = 1 << 20

func newMemPipe(m *memNet, from, to string) *memPipe {
	p := &memPipe{net: m, from: from, to: to}
	p.changed = sync.NewCond(&p.mu)
	m.mu.Lock()
	m.pipes[p] = struct{}{}
	m.mu.Unlock()
	return p
}

func (p *memPipe) stir() {
	p.mu.Lock()
	p.changed.Broadcast()
	p.mu.Unlock()
}

func (p *memPipe) read(b []byte) (int, error) {
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

func (p *memPipe) write(b []byte) (int, error) {
	delay := p.net.delayOf(p.from, p.to)
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch now := time.Now(); {
		case p.closed:
			return 0, io.ErrClosedPipe
		case !p.sendUntil.IsZero() && !now.Before(p.sendUntil):
			return 0, os.ErrDeadlineExceeded
		case p.size < memPipeBytes:
			due := now.Add(delay)
			if n := len(p.chunks); n > 0 && p.chunks[n-1].due.After(due) {
				due = p.chunks[n-1].due
			}
			p.chunks = append(p.chunks, memChunk{due, append([]byte(nil), b...)})
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

func (p *memPipe) close() {
	p.mu.Lock()
	p.closed = true
	p.changed.Broadcast()
	p.mu.Unlock()
	p.net.mu.Lock()
	delete(p.net.pipes, p)
	p.net.mu.Unlock()
}

func (p *memPipe) deadline(which *time.Time, t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*which = t
	p.changed.Broadcast()
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), p.stir)
	}
}

type memConn struct {
	in, out *memPipe
	peer    string
	mu      sync.Mutex
	closed  bool
}

func (c *memConn) Read(b []byte) (int, error) {
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	n, err := c.in.read(b)
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *memConn) Write(b []byte) (int, error) { return c.out.write(b) }

func (c *memConn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *memConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.out.close()
	c.in.abort()
	return nil
}

// abort ends the reading end: what still arrives is of no use, and a writer learns of it as by a reset.
func (p *memPipe) abort() {
	p.mu.Lock()
	p.chunks, p.size, p.aborted = nil, 0, true
	p.mu.Unlock()
	p.close()
}

func (c *memConn) LocalAddr() net.Addr  { return peerAddr(c.in.to) }
func (c *memConn) RemoteAddr() net.Addr { return peerAddr(c.peer) }
func (c *memConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}
func (c *memConn) SetReadDeadline(t time.Time) error { c.in.deadline(&c.in.readUntil, t); return nil }
func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.out.deadline(&c.out.sendUntil, t)
	return nil
}
