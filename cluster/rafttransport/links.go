// Package rafttransport carries Raft's messages between nodes: as frames, over connections of package transport.
package rafttransport

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/mux"
	"github.com/stintdb/stint/cluster/transport"
)

const (
	// maxIdle is how many unused connections to a node are kept for each group: one for entries, one for heartbeats,
	// and one for votes.
	maxIdle = 3
	// maxUnused is how long a connection is kept that is not needed, up to twice as long: it costs a goroutine at the
	// other node.
	maxUnused = 3 * time.Second
	// maxNodes bounds the nodes that are remembered, which may be former members.
	maxNodes = 1024
)

// Links are this node's connections for Raft's messages, of all its groups. A connection has one question under way at
// a time, so its sender reads the answer itself: no heartbeat waits for entries before it, and no message costs a
// change of goroutines.
type Links struct {
	peers   *transport.Peers
	timeout time.Duration

	mu      sync.Mutex
	idle    map[way][]*link
	trimmed time.Time // when idle was last searched for connections that are not needed
	groups  map[uint32]*Transport
}

// New returns links without groups. A message takes at most the time given; a snapshot may take longer, by its size.
func New(peers *transport.Peers, timeout time.Duration) *Links {
	l := &Links{peers: peers, timeout: timeout, idle: map[way][]*link{}, groups: map[uint32]*Transport{}}
	peers.ServeRaft(l.serve)
	return l
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
	conn, err := l.peers.DialRaft(string(address))
	if err != nil {
		return nil, err
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
		go func() { // a node that reads nothing delays even the end of a stream to it
			for _, one := range drop {
				_ = one.conn.Close()
			}
		}()
	}
}

// keep keeps a connection, and returns connections to be closed.
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
		for n < len(kept)-1 && l.trimmed.Sub(kept[n].used) > maxUnused { // the least recently used is first
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

// group returns one of this node's groups; nil if there is no such group.
func (l *Links) group(number uint32) *Transport {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.groups[number]
}
