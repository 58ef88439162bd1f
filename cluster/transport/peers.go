package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/unauthenticated"
)

// DialTimeout bounds the making of a connection.
const DialTimeout = 2 * time.Second

const (
	handshakeTimeout = 2 * time.Second
	// maxUnauthenticated bounds the connections from members' addresses that have not finished their handshake, and
	// separately those from other addresses; maxPeerConns bounds all connections.
	maxUnauthenticated = 64
	maxPeerConns       = 1024
	maxHosts           = 1024
)

// Config is what peers need to know of their node.
type Config struct {
	Network Network
	Address string // the node's own address, as the others know it
	Hello   func(to raft.ServerID) Hello
	Known   func(address string) raft.ServerID // returns the node expected at an address; "" if unknown
	Leads   func() bool
	Check   func(theirs Hello) error                      // an error refuses a connection for Raft or calls; may be nil
	Serve   map[Purpose]func(conn net.Conn, theirs Hello) // serves a connection, except for Raft, until it closes
	Log     *slog.Logger

	// MaxUnauthenticated bounds the unauthenticated connections from members' addresses, and separately those from
	// elsewhere; 0 for 64.
	MaxUnauthenticated int
	OnConnect          func(from raft.ServerID) // called after a handshake with another node; may be nil
}

// Peers is this node's end of all connections between nodes.
type Peers struct {
	Config

	listener  net.Listener
	serveRaft func(net.Conn) // until the connection closes

	mu          sync.Mutex
	conns       map[net.Conn]Purpose
	hosts       map[string]string // the network of each address that was dialed
	fromMembers unauthenticated.Conns[net.Conn]
	fromOthers  unauthenticated.Conns[net.Conn]
	closed      bool
	isolations  int         // the number of groups that isolate this node
	isolated    atomic.Bool // some group does
	leaving     atomic.Bool // refuse connections for calls, unless this node leads
	refused     unauthenticated.Refusals
	stop        chan struct{}
	streams     map[streamsTo]*sharedDial
	dials       context.Context // ends connections that are being made
	endDials    context.CancelFunc
	ended       sync.WaitGroup
}

// New returns peers that do nothing yet.
func New(c Config) *Peers { return &Peers{Config: c} }

// Listen listens at an address. Connections are accepted from Start on.
func (p *Peers) Listen(address string) error {
	l, err := p.Network.Listen(address)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; choose another address with --cluster-listen", address, err)
	}
	p.listener, p.conns, p.hosts, p.stop, p.streams = l, map[net.Conn]Purpose{}, map[string]string{}, make(chan struct{}),
		map[streamsTo]*sharedDial{}
	p.dials, p.endDials = context.WithCancel(context.Background())
	return nil
}

// Start accepts connections until Halt.
func (p *Peers) Start() { p.ended.Go(p.accept) }

func (p *Peers) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			select {
			case <-p.stop:
				return
			case <-time.After(50 * time.Millisecond): // most likely the process has no descriptors left
				if times := p.refused.Note("", err, time.Now()); times > 0 {
					p.Log.Warn("cannot accept connections from other nodes", "error", err, "times", times)
				}
				continue
			}
		}
		if !p.admit(conn) {
			_ = conn.Close()
			continue
		}
		p.ended.Go(func() { p.serveConn(conn) })
	}
}

// admit registers a connection before its handshake. At the bound it closes the connection that has been silent
// longest. Members' addresses and all others have separate bounds.
func (p *Peers) admit(conn net.Conn) bool {
	evicted, isAdmitted := p.register(conn)
	if evicted != nil {
		_ = evicted.Close()
	}
	return isAdmitted
}

func (p *Peers) register(conn net.Conn) (evicted net.Conn, isAdmitted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.conns) >= maxPeerConns {
		return nil, false
	}
	p.conns[conn] = 0
	network, among := unauthenticated.Network(conn.RemoteAddr().String()), &p.fromOthers
	for _, host := range p.hosts {
		if host == network {
			among = &p.fromMembers
		}
	}
	evicted, _ = among.Add(conn, network, cmp.Or(p.MaxUnauthenticated, maxUnauthenticated))
	return evicted, true
}

var errEvicted = errors.New("it was silent while other connections arrived")

func (p *Peers) serveConn(conn net.Conn) {
	purpose, theirs, err := p.acceptHandshake(conn)
	if wasMember, wasStranger := p.fromMembers.Remove(conn), p.fromOthers.Remove(conn); !wasMember && !wasStranger {
		err = errEvicted
	}
	if err == nil {
		err = p.track(conn, purpose)
	}
	if err != nil {
		p.close(conn)
		if errors.Is(err, io.EOF) || errors.Is(err, errLeaving) || errors.Is(err, net.ErrClosed) {
			return
		}
		if times := p.refused.Note(conn.RemoteAddr().String(), err, time.Now()); times > 0 {
			p.Log.Warn("refused a connection on the cluster's port", "from", conn.RemoteAddr().String(), "error", err, "times",
				times)
		}
		return
	}
	if theirs.Streams && purpose != ForRPC {
		defer p.close(conn)
		p.serveStreams(conn, purpose, theirs)
		return
	}
	defer p.close(conn)
	if purpose == ForRaft {
		p.serveRaft(conn)
		return
	}
	p.Serve[purpose](conn, theirs)
}

// EndDials gives up the connections that are being made, and refuses to make others. It is called when the node ends:
// Raft waits for these connections, and a resolver may not answer for a name.
func (p *Peers) EndDials() { p.endDials() }

// Dial connects to the node at an address and returns its hello. It takes [DialTimeout] at most, including the look-up
// of a name.
func (p *Peers) Dial(ctx context.Context, address string, purpose Purpose) (net.Conn, Hello, error) {
	return p.dial(ctx, address, purpose, Hello{})
}

// DialCalls connects to the node at an address for calls to one of its groups. Groups of keys share a connection.
func (p *Peers) DialCalls(ctx context.Context, address string, group uint32) (net.Conn, error) {
	if group > 0 {
		s, err := p.OpenStream(ctx, address, CallsLane, group)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	conn, _, err := p.dial(ctx, address, ForCalls, Hello{})
	return conn, err
}

// dial connects. Its hello has Frames and Streams as about has them.
func (p *Peers) dial(ctx context.Context, address string, purpose Purpose, about Hello) (net.Conn, Hello, error) {
	if p.isolated.Load() && purpose != ForRPC {
		return nil, Hello{}, errIsolated
	}
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	defer context.AfterFunc(p.dials, cancel)()
	conn, err := p.Network.Dial(ctx, address)
	if err != nil {
		return nil, Hello{}, err
	}
	if err := p.track(conn, purpose); err != nil {
		_ = conn.Close()
		return nil, Hello{}, err
	}
	// a peer may accept the connection and never answer the hello
	given := context.AfterFunc(ctx, func() { _ = conn.Close() })
	theirs, err := p.dialHandshake(conn, address, purpose, about)
	if !given() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		p.close(conn)
		return nil, theirs, fmt.Errorf("%s: %w", address, err)
	}
	p.noteHost(address, conn)
	return &peerConn{conn, p}, theirs, nil
}

// noteHost remembers the network of a member's address: connections from there are most likely from that node.
func (p *Peers) noteHost(address string, conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.hosts[address]; known || len(p.hosts) < maxHosts {
		p.hosts[address] = unauthenticated.Network(conn.RemoteAddr().String())
	}
}

// track registers a connection with its purpose. Isolate closes all registered connections, so one that is being made
// at that moment is refused here.
func (p *Peers) track(conn net.Conn, purpose Purpose) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return net.ErrClosed
	case p.isolated.Load() && purpose != ForRPC:
		return errIsolated
	}
	p.conns[conn] = purpose
	return nil
}

func (p *Peers) close(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

// Isolate closes the connections for Raft and for calls, and refuses new ones in both directions. With false it ends
// that, after as many calls as began it.
func (p *Peers) Isolate(muted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !muted {
		p.isolations--
		p.isolated.Store(p.isolations > 0)
		return
	}
	p.isolations++
	p.isolated.Store(true)
	for conn, purpose := range p.conns {
		if purpose == ForRaft || purpose == ForCalls {
			_ = conn.Close()
		}
	}
}

// IsIsolated reports whether Isolate cut this node off.
func (p *Peers) IsIsolated() bool { return p.isolated.Load() }

// Leave refuses connections for calls from now on, unless this node leads.
func (p *Peers) Leave() { p.leaving.Store(true) }

// NoteRefusal notes an error on another node's connection. It returns how often the error has happened since it was
// last to be logged, or 0 if it is not to be logged now.
func (p *Peers) NoteRefusal(from string, err error) (times int) {
	return p.refused.Note(from, err, time.Now())
}

// Halt closes all connections and ends all goroutines.
func (p *Peers) Halt() {
	p.mu.Lock()
	p.closed = true
	close(p.stop)
	conns := p.conns
	p.conns = map[net.Conn]Purpose{}
	p.mu.Unlock()
	p.endDials()
	_ = p.listener.Close()
	for conn := range conns {
		_ = conn.Close()
	}
	p.ended.Wait()
}

// peerConn is a connection that is unregistered when it is closed.
type peerConn struct {
	net.Conn
	peers *Peers
}

// Close implements net.Conn.
func (c *peerConn) Close() error {
	c.peers.close(c.Conn)
	return nil
}
