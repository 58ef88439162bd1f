package transport

import (
	"context"
	"errors"
	"net"
)

// framesVersion is the form of the frames that carry Raft's messages: [Hello.Frames].
const framesVersion = 1

// errNoFrames refuses a node of a build before version 0.2.0.
var errNoFrames = errors.New("it runs a version before 0.2.0, whose Raft messages differ: upgrade it to 0.2.0 first")

// ServeRaft sets the function that serves a connection for Raft until it closes. It is called before Start.
func (p *Peers) ServeRaft(serve func(net.Conn)) { p.serveRaft = serve }

// DialRaft connects to the node at an address for Raft's messages.
func (p *Peers) DialRaft(address string) (net.Conn, error) {
	conn, theirs, err := p.dial(context.Background(), address, ForRaft, Hello{Frames: framesVersion})
	if err == nil && theirs.Frames < framesVersion {
		_ = conn.Close()
		return nil, errNoFrames
	}
	return conn, err
}
