package transport

import (
	"context"
	"net"
	"time"

	"github.com/hashicorp/raft"
)

// RaftStream passes connections for Raft to Raft.
func (p *Peers) RaftStream() raft.StreamLayer { return raftStream{p} }

// raftStream passes connections with Raft's purpose to Raft. It implements raft.StreamLayer.
type raftStream struct{ *Peers }

// Accept implements net.Listener.
func (s raftStream) Accept() (net.Conn, error) {
	select {
	case conn := <-s.raftConns:
		return conn, nil
	case <-s.stop:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The listener belongs to the node, so nothing is closed here.
func (s raftStream) Close() error { return nil }

// Addr implements net.Listener.
func (s raftStream) Addr() net.Addr { return peerAddr(s.Address) }

// Dial implements raft.StreamLayer.
func (s raftStream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, _, err := s.Peers.Dial(ctx, string(address), ForRaft)
	return conn, err
}

// peerAddr is an address in its original spelling.
type peerAddr string

func (peerAddr) Network() string  { return "tcp" }
func (a peerAddr) String() string { return string(a) }
