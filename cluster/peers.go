package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Network is how nodes reach each other.
type Network interface {
	Listen(address string) (net.Listener, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// TCP is a Network over TCP, inside TLS if there is a configuration for it.
type TCP struct{ TLS *tls.Config }

// Listen implements [Network].
func (t TCP) Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil || t.TLS == nil {
		return l, err
	}
	return tls.NewListener(l, t.TLS), nil
}

// Dial implements [Network].
func (t TCP) Dial(ctx context.Context, address string) (net.Conn, error) {
	if t.TLS == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	return (&tls.Dialer{Config: t.TLS}).DialContext(ctx, "tcp", address)
}

// A connection between nodes begins with eight bytes, the last of which is what it is for, and a greeting each way.
const peerMagic = "STINT\x00\x01"

// What a connection between nodes is for.
const (
	forRaft    = 'R' // Raft's own messages
	forCalls   = 'C' // operations forwarded to the leader
	forControl = 'M' // questions and requests about the cluster itself
)

// greeting is what a node says of itself first.
type greeting struct {
	From    raft.ServerID `json:"from"`
	To      raft.ServerID `json:"to,omitempty"` // whom it expects to reach, if it knows
	Cluster string        `json:"cluster,omitempty"`
	Refused string        `json:"refused,omitempty"` // in the answer: why not
}

const (
	// greetingTimeout bounds how long a connection may take to say what it is for, and dialTimeout how long to make one.
	greetingTimeout = 2 * time.Second
	dialTimeout     = 2 * time.Second
	// maxStrangers bounds the connections that have not said yet what they are for, maxPeerConns all of them.
	maxStrangers = 64
	maxPeerConns = 1024
)

// peers is this node's end of all connections between nodes.
type peers struct {
	network Network
	address string // the node's own, as the others know it
	hello   func(to raft.ServerID) greeting
	known   func(address string) raft.ServerID // who is expected at an address, "" if unknown
	leads   func() bool
	log     *slog.Logger

	listener  net.Listener
	raftConns chan net.Conn
	serve     map[byte]func(net.Conn)

	mu        sync.Mutex
	conns     map[net.Conn]byte // and what each is for
	strangers int
	closed    bool
	muted     atomic.Bool
	leaving   atomic.Bool // nobody is to forward calls here any more, unless it leads
	refused   refusals
	stop      chan struct{}
	ended     sync.WaitGroup
}

func (p *peers) listen(address string) error {
	l, err := p.network.Listen(address)
	if err != nil {
		return fmt.Errorf("--cluster-listen: %w", err)
	}
	p.listener, p.conns, p.stop = l, map[net.Conn]byte{}, make(chan struct{})
	p.raftConns = make(chan net.Conn)
	return nil
}

func (p *peers) run() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			select {
			case <-p.stop:
				return
			case <-time.After(50 * time.Millisecond): // out of descriptors, most likely
				p.log.Warn("cannot accept connections from other nodes", "error", err)
				continue
			}
		}
		if !p.admit(conn) {
			_ = conn.Close()
			continue
		}
		p.ended.Go(func() { p.greet(conn) })
	}
}

// admit counts a connection that has not said yet what it is for.
func (p *peers) admit(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.strangers >= maxStrangers || len(p.conns) >= maxPeerConns {
		return false
	}
	p.strangers++
	p.conns[conn] = 0
	return true
}

func (p *peers) greet(conn net.Conn) {
	purpose, err := p.welcome(conn)
	p.mu.Lock()
	p.strangers--
	if err == nil {
		p.conns[conn] = purpose
	}
	p.mu.Unlock()
	if err != nil {
		p.close(conn)
		if errors.Is(err, io.EOF) || errors.Is(err, errLeaving) {
			return
		}
		if times := p.refused.note(conn.RemoteAddr(), err, time.Now()); times > 0 {
			p.log.Warn("refused a connection on the cluster's port", "from", conn.RemoteAddr().String(), "error", err, "times", times)
		}
		return
	}
	if purpose == forRaft {
		select {
		case p.raftConns <- &peerConn{conn, p}:
		case <-p.stop:
			p.close(conn)
		}
		return
	}
	defer p.close(conn)
	p.serve[purpose](conn)
}

// welcome answers a greeting.
func (p *peers) welcome(conn net.Conn) (purpose byte, err error) {
	_ = conn.SetDeadline(time.Now().Add(greetingTimeout))
	head := make([]byte, len(peerMagic)+1)
	if _, err := io.ReadFull(conn, head); err != nil {
		return 0, err
	}
	purpose = head[len(peerMagic)]
	if string(head[:len(peerMagic)]) != peerMagic || purpose != forRaft && purpose != forCalls && purpose != forControl {
		return 0, errors.New("it does not speak the protocol between nodes, or another version of it")
	}
	var theirs greeting
	if err := readJSON(conn, &theirs); err != nil {
		return 0, err
	}
	ours := p.hello("")
	switch {
	case purpose == forCalls && p.leaving.Load() && !p.leads():
		_ = writeJSON(conn, greeting{From: ours.From, Cluster: ours.Cluster, Refused: errLeaving.Error()})
		return 0, errLeaving
	case p.muted.Load() && purpose != forControl:
		ours.Refused = errMuted.Error()
	case theirs.To != "" && theirs.To != ours.From:
		ours.Refused = fmt.Sprintf("this is node %s, not %s", ours.From, theirs.To)
	case theirs.Cluster != "" && ours.Cluster != "" && theirs.Cluster != ours.Cluster:
		ours.Refused = fmt.Sprintf("this node belongs to the cluster %s, not to %s", ours.Cluster, theirs.Cluster)
	}
	if err := writeJSON(conn, ours); err != nil {
		return 0, err
	}
	if ours.Refused != "" {
		return 0, fmt.Errorf("from node %s: %s", theirs.From, ours.Refused)
	}
	return purpose, conn.SetDeadline(time.Time{})
}

var errLeaving = errors.New("this node has handed over leadership and is about to end")

var errMuted = errors.New("this node has withdrawn, as its disk does not answer")

// dial makes a connection to the node at an address and returns what it said of itself.
func (p *peers) dial(ctx context.Context, address string, purpose byte) (net.Conn, greeting, error) {
	if p.muted.Load() && purpose != forControl {
		return nil, greeting{}, errMuted
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := p.network.Dial(ctx, address)
	if err != nil {
		return nil, greeting{}, err
	}
	if !p.track(conn, purpose) {
		_ = conn.Close()
		return nil, greeting{}, net.ErrClosed
	}
	given := context.AfterFunc(ctx, func() { _ = conn.Close() }) // whoever answers the dial may not answer the greeting
	theirs, err := p.introduce(conn, address, purpose)
	if !given() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		p.close(conn)
		return nil, theirs, fmt.Errorf("%s: %w", address, err)
	}
	return &peerConn{conn, p}, theirs, nil
}

func (p *peers) introduce(conn net.Conn, address string, purpose byte) (theirs greeting, err error) {
	_ = conn.SetDeadline(time.Now().Add(greetingTimeout))
	to := raft.ServerID("")
	if purpose == forRaft {
		to = p.known(address)
	}
	if _, err := conn.Write(append([]byte(peerMagic), purpose)); err != nil {
		return theirs, err
	}
	if err := writeJSON(conn, p.hello(to)); err != nil {
		return theirs, err
	}
	if err := readJSON(conn, &theirs); err != nil {
		return theirs, err
	}
	if theirs.Refused != "" {
		return theirs, errors.New(theirs.Refused)
	}
	return theirs, conn.SetDeadline(time.Time{})
}

func (p *peers) track(conn net.Conn, purpose byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[conn] = purpose
	return true
}

func (p *peers) close(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

// mute cuts this node off from Raft's messages and from forwarded calls, in both directions, or ends that.
func (p *peers) mute(muted bool) {
	p.muted.Store(muted)
	if !muted {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn, purpose := range p.conns {
		if purpose == forRaft || purpose == forCalls {
			_ = conn.Close()
		}
	}
}

func (p *peers) halt() {
	p.mu.Lock()
	p.closed = true
	close(p.stop)
	conns := p.conns
	p.conns = map[net.Conn]byte{}
	p.mu.Unlock()
	_ = p.listener.Close()
	for conn := range conns {
		_ = conn.Close()
	}
	p.ended.Wait()
}

// peerConn is forgotten when it is closed.
type peerConn struct {
	net.Conn
	peers *peers
}

// Close implements net.Conn.
func (c *peerConn) Close() error {
	c.peers.close(c.Conn)
	return nil
}

// raftStream hands Raft the connections that are for it. It implements raft.StreamLayer.
type raftStream struct{ *peers }

// Accept implements net.Listener.
func (s raftStream) Accept() (net.Conn, error) {
	select {
	case conn := <-s.raftConns:
		return conn, nil
	case <-s.stop:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener; the listener is the node's, and Raft only told it has no more use for it.
func (s raftStream) Close() error { return nil }

// Addr implements net.Listener.
func (s raftStream) Addr() net.Addr { return peerAddr(s.address) }

// Dial implements raft.StreamLayer.
func (s raftStream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, _, err := s.dial(ctx, string(address), forRaft)
	return conn, err
}

// peerAddr is an address as it was given.
type peerAddr string

func (peerAddr) Network() string  { return "tcp" }
func (a peerAddr) String() string { return string(a) }
