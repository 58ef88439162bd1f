package mux

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Stream is one stream of a connection. It has the connection's write deadline: a write that fails ends all streams.
type Stream struct {
	conn   *Conn
	number uint32

	mu     sync.Mutex
	unread []byte // the bytes from read on
	read   int
	until  time.Time
	asked  atomic.Int64 // when until was set, in nanoseconds since the connection began
	opened bool
	ended  error // the error of reading after unread
	moved  chan struct{}
	room   sync.Cond // signals that unread has become shorter, or the stream has ended
	timer  *time.Timer
}

var _ net.Conn = (*Stream)(nil)

func newStream(c *Conn, number uint32) *Stream {
	s := &Stream{conn: c, number: number, moved: make(chan struct{}, 1)}
	s.room.L = &s.mu
	return s
}

// Open opens a stream for a group, and waits until the other end serves it or says why not.
func (c *Conn) Open(ctx context.Context, group uint32) (*Stream, error) {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	c.last++
	s := newStream(c, c.last)
	c.streams[s.number] = s
	c.mu.Unlock()
	if err := s.send(kindOpen, binary.LittleEndian.AppendUint32(nil, group)); err != nil {
		return nil, err
	}
	for {
		s.mu.Lock()
		opened, ended := s.opened, s.ended
		s.mu.Unlock()
		switch {
		case opened:
			return s, nil
		case ended != nil:
			_ = s.Close()
			return nil, ended
		}
		select {
		case <-s.moved:
		case <-ctx.Done():
			_ = s.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// note changes the stream and wakes its reader.
func (s *Stream) note(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	s.room.Broadcast()
	s.wake()
}

func (s *Stream) wake() {
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

// closedBy notes that the other end has closed the stream.
func (s *Stream) closedBy(reason []byte) {
	err := io.EOF
	if len(reason) > 0 {
		err = errors.New(string(reason))
	}
	s.note(func() {
		if s.ended == nil {
			s.ended = err
		}
	})
}

// take takes bytes that have arrived, once there is room.
func (s *Stream) take(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.ended == nil && len(s.unread)-s.read > maxUnreadBytes {
		s.room.Wait()
	}
	if s.ended != nil {
		return
	}
	if s.read > 0 {
		s.unread, s.read = append(s.unread[:0], s.unread[s.read:]...), 0
	}
	s.unread = append(s.unread, b...)
	s.wake()
}

// Read implements net.Conn.
func (s *Stream) Read(b []byte) (int, error) {
	for {
		n, until, err := s.readNow(b)
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
		if until.IsZero() {
			<-s.moved
			continue
		}
		if s.timer == nil {
			s.timer = time.NewTimer(time.Until(until))
		} else {
			s.timer.Reset(time.Until(until))
		}
		select {
		case <-s.moved:
			s.timer.Stop()
		case <-s.timer.C:
			if s.conn.heard.Load() <= s.asked.Load() { // nothing has arrived since the deadline was set
				s.conn.end(errSilent)
			}
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// readNow reads without waiting.
func (s *Stream) readNow(b []byte) (n int, until time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n = copy(b, s.unread[s.read:]); n == 0 {
		return 0, s.until, s.ended
	}
	wasFull := len(s.unread)-s.read > maxUnreadBytes
	if s.read += n; s.read == len(s.unread) {
		s.unread, s.read = s.unread[:0], 0
		if cap(s.unread) > keepBytes {
			s.unread = nil
		}
	}
	if wasFull {
		s.room.Broadcast()
	}
	return n, s.until, nil
}

// Write implements net.Conn. Bytes that were written are lost if the connection fails before they are sent.
func (s *Stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended != nil {
		return 0, ended
	}
	sent := 0
	for part := b; len(part) > 0; part = b[sent:] {
		part = part[:min(len(part), maxChunkBytes)]
		if err := s.send(kindData, part); err != nil {
			return sent, err
		}
		sent += len(part)
	}
	return sent, nil
}

func (s *Stream) send(kind byte, b []byte) error { return s.conn.send(s.number, kind, b) }

// Close implements net.Conn.
func (s *Stream) Close() error { return s.close("") }

func (s *Stream) close(reason string) error {
	c := s.conn
	c.mu.Lock()
	isOpen := c.streams[s.number] == s
	if isOpen {
		delete(c.streams, s.number)
	}
	c.mu.Unlock()
	s.note(func() {
		if s.unread, s.read = nil, 0; s.ended == nil {
			s.ended = net.ErrClosed
		}
	})
	if !isOpen {
		return nil
	}
	return s.send(kindClose, []byte(reason))
}

// HasEnded reports whether the stream, or its connection, has ended.
func (s *Stream) HasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended != nil
}

// LocalAddr implements net.Conn.
func (s *Stream) LocalAddr() net.Addr { return s.conn.conn.LocalAddr() }

// RemoteAddr implements net.Conn.
func (s *Stream) RemoteAddr() net.Addr { return s.conn.conn.RemoteAddr() }

// SetDeadline implements net.Conn.
func (s *Stream) SetDeadline(t time.Time) error { return s.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn, for reads that begin later.
func (s *Stream) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = t
	s.asked.Store(int64(time.Since(s.conn.began)))
	return nil
}

// SetWriteDeadline implements net.Conn.
func (s *Stream) SetWriteDeadline(time.Time) error { return nil }
