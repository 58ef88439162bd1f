// Package testnet is a network in memory for tests, with faults. In a synctest bubble its time is simulated.
package testnet

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Net is a network in memory whose links can be slow, or cut one way or both. Data written into a cut link arrives
// when it is mended, as TCP would have it, unless the connection was given up by then.
type Net struct {
	mu        sync.Mutex
	listeners map[string]*listener
	cut       map[[2]string]bool
	delay     map[[2]string]time.Duration
	largest   map[[2]string]int
	pipes     map[*pipe]struct{}
}

// New returns a network without faults.
func New() *Net {
	return &Net{listeners: map[string]*listener{}, cut: map[[2]string]bool{}, delay: map[[2]string]time.Duration{}, largest: map[[2]string]int{}, pipes: map[*pipe]struct{}{}}
}

// SetCut cuts or mends what flows from one address to another.
func (m *Net) SetCut(from, to string, cut bool) {
	m.mu.Lock()
	m.cut[[2]string{from, to}] = cut
	pipes := m.all()
	m.mu.Unlock()
	for _, p := range pipes {
		p.stir()
	}
}

// SetDelay makes data take some time from one address to another.
func (m *Net) SetDelay(from, to string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delay[[2]string{from, to}] = d
}

// SetLargest makes the network lose writes of more bytes, and all data after them on the same connection, as
// TCP does on a path that drops large packets; 0 ends that for later writes.
func (m *Net) SetLargest(from, to string, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.largest[[2]string{from, to}] = bytes
}

func (m *Net) isTooLarge(from, to string, bytes int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	largest := m.largest[[2]string{from, to}]
	return largest > 0 && bytes > largest
}

func (m *Net) all() (all []*pipe) {
	for p := range m.pipes {
		all = append(all, p)
	}
	return all
}

func (m *Net) isCut(from, to string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cut[[2]string{from, to}]
}

func (m *Net) delayOf(from, to string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.delay[[2]string{from, to}]
}

// Of is the network as the node at an address sees it.
func (m *Net) Of(address string) View { return View{m, address} }

// View is the network as one node sees it.
type View struct {
	net  *Net
	from string
}

// Listen accepts connections to the view's own address, whatever the argument.
func (v View) Listen(string) (net.Listener, error) {
	l := &listener{address: v.from, net: v.net, conns: make(chan net.Conn), closed: make(chan struct{})}
	v.net.mu.Lock()
	defer v.net.mu.Unlock()
	v.net.listeners[v.from] = l
	return l, nil
}

// Dial connects to an address. It waits while the link is cut.
func (v View) Dial(ctx context.Context, to string) (net.Conn, error) {
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
	there, back := newPipe(v.net, v.from, to), newPipe(v.net, to, v.from)
	near, far := &conn{in: back, out: there, peer: to}, &conn{in: there, out: back, peer: v.from}
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

type listener struct {
	address string
	net     *Net
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
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

func (l *listener) Addr() net.Addr { return addr(l.address) }

// addr is the address of a node.
type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }
