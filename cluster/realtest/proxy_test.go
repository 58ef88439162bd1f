//go:build e2e

package realtest

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testwait"
)

// link is one direction between two nodes. Data in transit while it is cut arrives once it is mended, as with TCP.
type link struct {
	cut            atomic.Bool
	delay          atomic.Int64 // nanoseconds
	bytesPerSecond atomic.Int64 // 0 for as many as there are
}

func (l *link) mend() {
	l.cut.Store(false)
	l.delay.Store(0)
	l.bytesPerSecond.Store(0)
}

// network is all links of a cluster: from, to.
type network map[[2]string]*link

func newNetwork(names []string) network {
	n := network{}
	for _, from := range names {
		for _, to := range names {
			if from != to {
				n[[2]string{from, to}] = &link{}
			}
		}
	}
	return n
}

func (n network) mend() {
	for _, l := range n {
		l.mend()
	}
}

// proxy stands before a node's port for the other nodes. It knows from the greeting on a connection whose it is.
type proxy struct {
	net      network
	name, to string // the node behind it, and where that listens
	listener net.Listener
	conns    sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool
	closed   bool
}

// startProxy starts the proxy of a node, and returns its address.
func startProxy(t testing.TB, n network, name, to string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{net: n, name: name, to: to, listener: l, open: map[net.Conn]bool{}}
	p.conns.Go(p.run)
	t.Cleanup(p.stop)
	return l.Addr().String()
}

func (p *proxy) run() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.track(conn) {
			p.conns.Go(func() {
				defer p.forget(conn)
				p.pass(conn)
			})
		}
	}
}

func (p *proxy) stop() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.open {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.conns.Wait()
}

func (p *proxy) track(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return false
	}
	p.open[conn] = true
	return true
}

func (p *proxy) forget(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, conn)
}

func (p *proxy) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// pass carries a connection in both directions until it ends.
func (p *proxy) pass(from net.Conn) {
	_ = from.SetReadDeadline(testwait.Deadline())
	head, name, err := readGreeting(from)
	there := p.net[[2]string{name, p.name}]
	back := p.net[[2]string{p.name, name}]
	if err != nil || there == nil {
		return
	}
	_ = from.SetReadDeadline(time.Time{})
	to, err := net.Dial("tcp", p.to)
	if err != nil || !p.track(to) {
		return
	}
	defer p.forget(to)
	var answers sync.WaitGroup
	answers.Go(func() { p.carry(back, nil, to, from) })
	p.carry(there, head, from, to)
	answers.Wait()
}

// readGreeting reads the start of a handshake: eight bytes and a frame of JSON.
func readGreeting(r io.Reader) (read []byte, from string, err error) {
	read = make([]byte, 8+4)
	if _, err := io.ReadFull(r, read); err != nil {
		return nil, "", err
	}
	size := binary.LittleEndian.Uint32(read[8:])
	if size > 1<<16 {
		return nil, "", errors.New("no greeting")
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, "", err
	}
	var greeting struct{ From string }
	if err := json.Unmarshal(text, &greeting); err != nil {
		return nil, "", err
	}
	name, _, _ := strings.Cut(greeting.From, "#")
	return append(read, text...), name, nil
}

type chunk struct {
	bytes []byte
	due   time.Time
}

// carry moves bytes over a link, head first. The end of the connection travels like bytes do: over a cut link it does not
// arrive, and leaves the connection half-open.
func (p *proxy) carry(l *link, head []byte, from, to net.Conn) {
	onTheWay := make(chan chunk, 64)
	var writer sync.WaitGroup
	writer.Go(func() {
		for c := range onTheWay {
			time.Sleep(time.Until(c.due))
			for l.cut.Load() && !p.isClosed() {
				time.Sleep(time.Millisecond)
			}
			if rate := l.bytesPerSecond.Load(); rate > 0 {
				time.Sleep(time.Duration(len(c.bytes)) * time.Second / time.Duration(rate))
			}
			if len(c.bytes) == 0 {
				_ = to.(*net.TCPConn).CloseWrite()
			} else if _, err := to.Write(c.bytes); err != nil {
				_ = from.Close() // which ends the reader below
			}
		}
	})
	put := func(b []byte) { onTheWay <- chunk{b, time.Now().Add(time.Duration(l.delay.Load()))} }
	if head != nil {
		put(head)
	}
	for {
		b := make([]byte, 32<<10)
		n, err := from.Read(b)
		if n > 0 {
			put(b[:n])
		}
		if err != nil {
			break
		}
	}
	put(nil)
	close(onTheWay)
	writer.Wait()
}
