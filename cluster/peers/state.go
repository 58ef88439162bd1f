package peers

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/transport"
)

// A node that lacks a replica of a group asks another node for the group's state: a request, an answer, and then
// frames, the last of which is empty.

const (
	stateFrame   = 256 << 10
	stateTimeout = 30 * time.Second // for the next frame of a state
)

// FetchState has the node at an address send the state of a group, as [group.Group.OpenState] returns it there.
func (s *Statuses) FetchState(ctx context.Context, address string, number int, stale bool) (io.ReadCloser, error) {
	conn, _, err := s.conns.Dial(ctx, address, transport.ForRPC)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(stateTimeout))
	var a response
	if err = transport.WriteJSON(conn, request{Group: uint32(number), State: &stateRequest{stale}}); err == nil {
		err = transport.ReadJSON(conn, &a)
	}
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &remoteState{conn: conn, done: context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
}

// remoteState reads a state that another node sends.
type remoteState struct {
	conn  net.Conn
	done  func() bool
	frame []byte // the last one
	left  []byte // the part of frame that has not been read
	ended bool
}

// Read implements io.Reader.
func (r *remoteState) Read(b []byte) (n int, err error) {
	for len(r.left) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		_ = r.conn.SetReadDeadline(time.Now().Add(stateTimeout))
		if r.frame, err = transport.ReadFrame(r.conn, r.frame, transport.MaxFrameBytes); errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		r.left, r.ended = r.frame, len(r.frame) == 0
	}
	n = copy(b, r.left)
	r.left = r.left[n:]
	return n, nil
}

// Close implements io.Closer.
func (r *remoteState) Close() error {
	r.done()
	return r.conn.Close()
}

// sendState sends the state of a group to a node without a replica.
func (s *Server) sendState(ctx context.Context, conn net.Conn, number uint32, q stateRequest) error {
	g := s.Group(number)
	if g == nil {
		return transport.WriteJSON(conn, response{Response: group.Response{Error: errNoGroup(number).Error()}})
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout-transport.DialTimeout)
	defer cancel()
	state, err := g.OpenState(ctx, q.Stale)
	_ = conn.SetWriteDeadline(time.Now().Add(rpcWriteTimeout))
	if err != nil {
		return transport.WriteJSON(conn, response{Response: group.Response{Error: err.Error()}})
	}
	defer state.Close()
	if err := transport.WriteJSON(conn, response{}); err != nil {
		return err
	}
	frame := make([]byte, 4+stateFrame)
	for {
		read, err := io.ReadFull(state, frame[4:])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.Join(err, conn.Close()) // the reader finds that it is cut
		}
		_ = conn.SetWriteDeadline(time.Now().Add(stateTimeout))
		if _, err := conn.Write(transport.SealFrame(frame[:4+read])); err != nil || read == 0 {
			return err
		}
	}
}
