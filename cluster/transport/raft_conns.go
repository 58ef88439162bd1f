package transport

import (
	"context"
	"net"
)

// newestFrames is the newest form of frames that this build knows.
const newestFrames = 1

// frames is [Hello.Frames] of this node.
func (p *Peers) frames() uint32 {
	if p.NoFrames {
		return 0
	}
	return newestFrames
}

// ServeRaft sets the function that serves a connection with frames for Raft until it closes. It is called before Start.
func (p *Peers) ServeRaft(serve func(net.Conn)) { p.serveRaft = serve }

// DialRaft connects to the node at an address for Raft's messages, and reports whether both know frames. Then the connection carries
// them, or else msgpack. Without asFrames it always does, for those who do not know that node yet.
func (p *Peers) DialRaft(address string, asFrames bool) (conn net.Conn, bothKnow bool, err error) {
	frames := uint32(0)
	if asFrames {
		frames = p.frames()
	}
	conn, theirs, err := p.dial(context.Background(), address, ForRaft, Hello{Frames: frames})
	return conn, p.usesFrames(theirs), err
}

// usesFrames reports whether a node knows the frames that this one does.
func (p *Peers) usesFrames(theirs Hello) bool { return min(p.frames(), theirs.Frames) > 0 }

// RaftListener accepts connections for Raft of nodes that do not know frames.
func (p *Peers) RaftListener() net.Listener { return raftListener{p} }

type raftListener struct{ *Peers }

// Accept implements net.Listener.
func (l raftListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.raftConns:
		return conn, nil
	case <-l.stop:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The listener belongs to the node, so nothing is closed here.
func (l raftListener) Close() error { return nil }

// Addr implements net.Listener.
func (l raftListener) Addr() net.Addr { return peerAddr(l.Address) }

// peerAddr is an address in its original spelling.
type peerAddr string

func (peerAddr) Network() string  { return "tcp" }
func (a peerAddr) String() string { return string(a) }
