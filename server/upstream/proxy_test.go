package upstream_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy is a long way to a server, which may be cut. Data in transit while it is cut arrives once it is mended, unless
// the connection was closed.
type proxy struct {
	to       string
	listener net.Listener
	delay    atomic.Int64
	isCut    atomic.Bool

	mu    sync.Mutex
	conns map[net.Conn]bool
	ended sync.WaitGroup
}

func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{to: to, listener: listener, conns: map[net.Conn]bool{}}
	p.ended.Go(p.accept)
	t.Cleanup(func() {
		listener.Close()
		p.closeAll()
		p.ended.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// closeAll closes all present connections.
func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		conn.Close()
	}
	clear(p.conns)
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		p.conns[near], p.conns[far] = true, true
		p.mu.Unlock()
		p.ended.Go(func() { p.pass(near, far) })
		p.ended.Go(func() { p.pass(far, near) })
	}
}

// pass copies in one direction, each chunk after the delay.
func (p *proxy) pass(from, to net.Conn) {
	type chunk struct {
		data []byte
		due  time.Time
	}
	chunks := make(chan chunk, 1024)
	p.ended.Go(func() {
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			for p.isCut.Load() {
				time.Sleep(time.Millisecond)
			}
			if _, err := to.Write(c.data); err != nil {
				from.Close()
			}
		}
		to.Close()
	})
	defer close(chunks)
	for {
		b := make([]byte, 16<<10)
		n, err := from.Read(b)
		if n > 0 {
			chunks <- chunk{b[:n], time.Now().Add(time.Duration(p.delay.Load()))}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				from.Close()
			}
			return
		}
	}
}
