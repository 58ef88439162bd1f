package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"

	"github.com/stintdb/stint/cluster/mux"
)

// Groups of keys send their calls and Raft's messages in streams: all streams to one node share a connection for each
// lane.

// Lane is one of the connections between two nodes that carry streams: a message waits only for others in its lane.
type Lane byte

// The lanes.
const (
	CallsLane Lane = iota
	EntriesLane
	HeartbeatsLane // and votes
)

func (l Lane) purpose() Purpose {
	if l == CallsLane {
		return ForCalls
	}
	return ForRaft
}

type streamsTo struct {
	address string
	lane    Lane
}

// sharedDial is a connection with streams, or the attempt to make one.
type sharedDial struct {
	done chan struct{} // closed when the next two fields are set
	conn *mux.Conn
	err  error
}

// hasEnded reports whether a new connection is needed.
func (d *sharedDial) hasEnded() bool {
	select {
	case <-d.done:
		return d.err != nil || d.conn.Err() != nil
	default:
		return false
	}
}

// OpenStream opens a stream to the node at an address, for one of its groups.
func (p *Peers) OpenStream(ctx context.Context, address string, lane Lane, group uint32) (*mux.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	defer context.AfterFunc(p.dials, cancel)()
	d, err := p.shareDial(streamsTo{address, lane})
	if err != nil {
		return nil, err
	}
	select {
	case <-d.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if d.err != nil {
		return nil, d.err
	}
	return d.conn.Open(ctx, group)
}

// shareDial returns the existing connection, or begins to make one.
func (p *Peers) shareDial(to streamsTo) (*sharedDial, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.streams[to]; d != nil && !d.hasEnded() {
		return d, nil
	}
	if p.closed {
		return nil, net.ErrClosed
	}
	d := &sharedDial{done: make(chan struct{})}
	p.streams[to] = d
	p.ended.Go(func() { p.dialStreams(to, d) })
	return d, nil
}

var errNoStreams = errors.New("the other node is too old to carry groups of keys in streams: start it with the version of this node")

// dialStreams connects, and receives until the connection ends.
func (p *Peers) dialStreams(to streamsTo, d *sharedDial) {
	defer p.forgetStreams(to, d)
	conn, theirs, err := p.dial(context.Background(), to.address, to.lane.purpose(), Hello{Frames: framesVersion,
		Streams: true})
	if err == nil && !theirs.Streams {
		_ = conn.Close()
		err = errNoStreams
	}
	if err != nil {
		d.err = err
		close(d.done)
		return
	}
	d.conn = mux.New(conn)
	close(d.done)
	p.NoteBroken(conn, brokenStreams, d.conn.Run())
}

// forgetStreams forgets a connection that has ended, unless another has replaced it.
func (p *Peers) forgetStreams(to streamsTo, d *sharedDial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams[to] == d {
		delete(p.streams, to)
	}
}

// serveStreams serves the streams of a connection until it closes.
func (p *Peers) serveStreams(conn net.Conn, purpose Purpose, theirs Hello) {
	about := func(group uint32) Hello {
		h := theirs
		h.Group = group
		return h
	}
	admit := func(group uint32) error {
		switch {
		case purpose == ForCalls && p.leaving.Load() && !p.Leads():
			return errLeaving
		case purpose == ForCalls:
			return p.checkPeer(about(group), purpose)
		}
		return nil // the message says which member it is for
	}
	p.NoteBroken(conn, brokenStreams, mux.Accept(conn, admit, func(s *mux.Stream, group uint32) {
		if purpose == ForRaft {
			p.serveRaft(s)
		} else {
			p.Serve[purpose](s, about(group))
		}
	}).Run())
}

const brokenStreams = "closed a connection with another node"

// NoteBroken logs why a connection has ended, unless it was closed.
func (p *Peers) NoteBroken(conn net.Conn, message string, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(net.Error)) ||
		errors.Is(err, net.ErrClosed) {
		return
	}
	from := conn.RemoteAddr().String()
	if times := p.NoteRefusal(from, err); times > 0 {
		p.Log.Warn(message, "from", from, "error", err, "times", times)
	}
}

// Buffered returns a buffered reader of a connection; a stream has its own buffer.
func Buffered(conn net.Conn) io.Reader {
	if s, isStream := conn.(*mux.Stream); isStream {
		return s
	}
	return bufio.NewReaderSize(conn, 64<<10)
}
