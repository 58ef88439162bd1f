// Package mux carries many streams over one connection between nodes. Streams that have something to send at the same
// time send it in one write, and the other end takes it in one read.
package mux

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A connection carries chunks, all numbers little-endian:
//
//	4  number of the stream, given by the dialing end
//	1  kind
//	4  length
//	…  bytes of that length
const (
	kindOpen   = 1 // bytes: 4, the group that the stream is for
	kindOpened = 2 // answers kindOpen
	kindData   = 3
	kindClose  = 4 // bytes: why the stream was refused
)

const (
	chunkHead = 4 + 1 + 4
	// maxChunkBytes bounds the bytes of a chunk, so a long message of one stream lets others through.
	maxChunkBytes = 64 << 10
	// maxWaitingBytes bounds the chunks that wait for the write under way. Beyond it their senders wait too.
	maxWaitingBytes = 1 << 20
	// maxUnreadBytes bounds the bytes of a stream that have not been read. Beyond it the other end can send nothing
	// more, on any stream.
	maxUnreadBytes = 4 << 20
	// maxStreams bounds the streams that the other end opens.
	maxStreams = 1024
	// writeTimeout bounds a write to the connection.
	writeTimeout = 2 * time.Second
	// keepBytes is the largest buffer that is kept.
	keepBytes = 256 << 10
	readBytes = maxChunkBytes // a chunk is looked at whole
)

// Conn is one end of a connection with streams.
type Conn struct {
	conn  net.Conn
	began time.Time
	heard atomic.Int64                  // when something last arrived, in nanoseconds since began
	serve func(s *Stream, group uint32) // serves a stream that the other end opened; nil if it may open none
	admit func(group uint32) error

	mu      sync.Mutex
	room    sync.Cond // signals that waiting has become shorter, or the connection has ended
	waiting []byte    // chunks to be written
	spare   []byte    // a buffer for the next chunks to wait
	writing bool
	streams map[uint32]*Stream
	last    uint32 // the last number of a stream
	err     error  // why the connection has ended

	served sync.WaitGroup
}

// errSilent ends a connection on which a stream waits in vain and nothing else arrives.
var errSilent = errors.New("nothing arrives on the connection")

// New returns the dialing end of a connection, whose streams work while Run runs.
func New(conn net.Conn) *Conn {
	c := &Conn{conn: conn, began: time.Now(), streams: map[uint32]*Stream{}}
	c.room.L = &c.mu
	return c
}

// Accept returns the other end. serve serves a stream until it closes, if admit returns no error.
func Accept(conn net.Conn, admit func(group uint32) error, serve func(s *Stream, group uint32)) *Conn {
	c := New(conn)
	c.admit, c.serve = admit, serve
	return c
}

// Run receives until the connection ends, and returns when no stream is served any longer.
func (c *Conn) Run() error {
	in := bufio.NewReaderSize(c.conn, readBytes)
	var err error
	for err == nil {
		err = c.read(in)
	}
	c.end(err)
	c.served.Wait()
	return c.Err()
}

// read takes a chunk.
func (c *Conn) read(in *bufio.Reader) error {
	var head [chunkHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return err
	}
	c.heard.Store(int64(time.Since(c.began)))
	number, size := binary.LittleEndian.Uint32(head[:]), int(binary.LittleEndian.Uint32(head[5:]))
	if size > maxChunkBytes {
		return fmt.Errorf("a chunk of %d bytes, more than the %d that are taken", size, maxChunkBytes)
	}
	s := c.stream(number)
	switch kind := head[4]; {
	case kind == kindOpen:
		return c.accept(in, number, size, s)
	case kind == kindOpened && size == 0:
		if s != nil {
			s.note(func() { s.opened = true })
		}
		return nil
	case kind == kindData:
		b, err := in.Peek(size)
		if err == nil && s != nil { // otherwise it was closed here
			s.take(b)
		}
		_, _ = in.Discard(len(b))
		return err
	case kind == kindClose:
		reason := make([]byte, size)
		if _, err := io.ReadFull(in, reason); err != nil {
			return err
		}
		if s != nil {
			s.closedBy(reason)
		}
		return nil
	default:
		return fmt.Errorf("a chunk of kind %d and %d bytes is not known", kind, size)
	}
}

// accept takes a stream that the other end opens.
func (c *Conn) accept(in io.Reader, number uint32, size int, known *Stream) error {
	if c.serve == nil || known != nil || size != 4 {
		return fmt.Errorf("stream %d may not be opened, with %d bytes", number, size)
	}
	var b [4]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return err
	}
	group := binary.LittleEndian.Uint32(b[:])
	s := newStream(c, number)
	c.mu.Lock()
	isFull := len(c.streams) >= maxStreams
	c.streams[number] = s
	c.mu.Unlock()
	refused := c.admit(group)
	if isFull {
		refused = fmt.Errorf("more than %d streams", maxStreams)
	}
	c.served.Go(func() {
		if refused != nil {
			_ = s.close(refused.Error())
			return
		}
		if s.send(kindOpened, nil) == nil {
			c.serve(s, group)
		}
		_ = s.Close()
	})
	return nil
}

func (c *Conn) stream(number uint32) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[number]
}

// Err returns why the connection has ended; nil before.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// end ends the connection and all its streams.
func (c *Conn) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	streams := c.streams
	c.streams, c.waiting = map[uint32]*Stream{}, nil
	c.room.Broadcast()
	c.mu.Unlock()
	_ = c.conn.Close()
	for _, s := range streams {
		s.note(func() { s.ended = err })
	}
}

// send sends a chunk together with the others that wait. A caller that finds nobody writing writes for all.
func (c *Conn) send(number uint32, kind byte, b []byte) error {
	c.mu.Lock()
	for c.err == nil && len(c.waiting) > maxWaitingBytes {
		c.room.Wait()
	}
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	c.waiting = binary.LittleEndian.AppendUint32(c.waiting, number)
	c.waiting = append(c.waiting, kind)
	c.waiting = binary.LittleEndian.AppendUint32(c.waiting, uint32(len(b)))
	c.waiting = append(c.waiting, b...)
	isFirst := !c.writing
	c.writing = true
	c.mu.Unlock()
	if !isFirst {
		return nil
	}
	runtime.Gosched() // streams that are woken together send together, too
	if c.write() {
		go func() { // the first caller does not write for callers that come later
			for c.write() {
			}
		}()
	}
	return c.Err()
}

// write writes the waiting bytes. It returns true if there is more to write.
func (c *Conn) write() bool {
	c.mu.Lock()
	frame := c.waiting
	c.waiting, c.spare = c.spare[:0], nil
	c.mu.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := c.conn.Write(frame); err != nil {
		c.end(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cap(frame) <= keepBytes {
		c.spare = frame
	}
	c.writing = len(c.waiting) > 0 && c.err == nil
	c.room.Broadcast()
	return c.writing
}
