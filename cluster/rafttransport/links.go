// Package rafttransport carries Raft's messages between nodes: as frames, over connections of package transport. To nodes that do not
// know frames it speaks as release 0.1.0 did.
package rafttransport

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/mux"
	"github.com/stintdb/stint/cluster/transport"
)

const (
	// maxIdle is how many unused connections to a node are kept for each group: one for entries, one for heartbeats, and one for votes.
	maxIdle = 3
	// maxUnused is how long one more than is needed at the same time is kept, or twice as long: at the other node it has a goroutine.
	maxUnused = 3 * time.Second
	// maxNodes bounds the nodes of which something is remembered, former members among them.
	maxNodes = 1024
)

// Links are this node's connections for Raft's messages, of all its groups. A connection has one question under way at a time, so its
// sender reads the answer itself: no heartbeat waits behind entries, and no message costs a change of goroutines.
type Links struct {
	peers   *transport.Peers
	timeout time.Duration
	old     *raft.NetworkTransport // to and from nodes that do not know frames

	mu      sync.Mutex
	idle    map[way][]*link
	trimmed time.Time                   // when idle was last searched for connections that are too many
	older   map[raft.ServerAddress]bool // nodes that did not know frames when last asked
	groups  map[uint32]*Transport
}

// New returns links without groups. A message takes at most the time given, a snapshot more by its size.
func New(peers *transport.Peers, timeout time.Duration, log hclog.Logger) *Links {
	l := &Links{peers: peers, timeout: timeout, idle: map[way][]*link{}, older: map[raft.ServerAddress]bool{}, groups: map[uint32]*Transport{}}
	l.old = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: oldStream{peers.RaftListener(), l}, MaxPool: maxIdle, MaxRPCsInFlight: 1, Timeout: timeout, Logger: log, MsgpackUseNewTimeFormat: true,
	})
	peers.ServeRaft(l.serve)
	return l
}

// errOlder and errNewer report that a node speaks otherwise than expected: another version was started there.
var (
	errOlder = errors.New("it does not know frames")
	errNewer = errors.New("it knows frames now")
)

// oldStream is how [raft.NetworkTransport] connects to nodes that do not know frames.
type oldStream struct {
	net.Listener
	links *Links
}

// Dial implements raft.StreamLayer.
func (s oldStream) Dial(address raft.ServerAddress, _ time.Duration) (net.Conn, error) {
	conn, bothKnow, err := s.links.peers.DialRaft(string(address), false)
	if err == nil && bothKnow {
		_ = conn.Close()
		s.links.note(address, false)
		return nil, errNewer
	}
	return conn, err
}

// note notes whether a node is an older one.
func (l *Links) note(address raft.ServerAddress, isOlder bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !isOlder {
		delete(l.older, address)
	} else if len(l.older) < maxNodes {
		l.older[address] = true
	}
}

func (l *Links) isOlder(address raft.ServerAddress) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.older[address]
}

// way is how messages go to a node: each in a separate connection, or in a stream.
type way struct {
	address  raft.ServerAddress
	inStream bool
	lane     transport.Lane // of the stream
}

// take returns an unused connection to a node, or a new one.
func (l *Links) take(address raft.ServerAddress) (*link, error) {
	if kept := l.takeIdle(way{address: address}); kept != nil {
		return kept, nil
	}
	conn, bothKnow, err := l.peers.DialRaft(string(address), true)
	if err != nil {
		return nil, err
	}
	if !bothKnow {
		_ = conn.Close()
		l.note(address, true)
		return nil, errOlder
	}
	return newLink(conn), nil
}

// takeStream returns an unused stream to a node, or a new one.
func (l *Links) takeStream(to way) (*link, error) {
	for kept := l.takeIdle(to); kept != nil; kept = l.takeIdle(to) {
		if !kept.conn.(*mux.Stream).HasEnded() {
			return kept, nil
		}
		_ = kept.conn.Close()
	}
	s, err := l.peers.OpenStream(context.Background(), string(to.address), to.lane, 0)
	if err != nil {
		return nil, err
	}
	return newLink(s), nil
}

func (l *Links) takeIdle(to way) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.idle[to]
	if len(kept) == 0 {
		return nil
	}
	last := kept[len(kept)-1]
	l.idle[to] = kept[:len(kept)-1]
	return last
}

// put keeps a connection for the next message to that node.
func (l *Links) put(to way, unused *link) {
	if drop := l.keep(to, unused); len(drop) > 0 {
		go func() { // a node that takes nothing holds up even the end of a stream to it
			for _, one := range drop {
				_ = one.conn.Close()
			}
		}()
	}
}

// keep returns connections that are not to be kept.
func (l *Links) keep(to way, unused *link) (drop []*link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept, isKnown := l.idle[to]
	if len(kept) >= maxIdle*len(l.groups) || !isKnown && len(l.idle) >= 3*maxNodes {
		return []*link{unused}
	}
	unused.used = time.Now()
	l.idle[to] = append(kept, unused)
	if unused.used.Sub(l.trimmed) < maxUnused {
		return nil
	}
	l.trimmed = unused.used
	for to, kept := range l.idle {
		n := 0
		for n < len(kept)-1 && l.trimmed.Sub(kept[n].used) > maxUnused { // those used least lately stand first
			n++
		}
		drop = append(drop, kept[:n]...)
		l.idle[to] = slices.Delete(kept, 0, n)
	}
	return drop
}

// remove forgets a group that has ended.
func (l *Links) remove(t *Transport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.groups[t.group] == t {
		delete(l.groups, t.group)
	}
}

// group is one of this node's groups, nil without such a one.
func (l *Links) group(number uint32) *Transport {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.groups[number]
}
