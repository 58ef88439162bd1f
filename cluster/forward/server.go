package forward

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

// Server decides what other nodes forward to this one. Its fields are set before use.
type Server struct {
	Ctx context.Context // ends with the node
	// Decide decides a call. It reports false for taken if this node does not lead: then the call certainly is not
	// decided. If finished is false, the batch's Done is called later.
	Decide  func(c *call.Call) (taken, finished bool)
	Now     func() int64                   // the cluster's time, 0 on a node that does not lead
	Refused func(from net.Addr, err error) // a connection was closed because it sent something that does not read

	conns     atomic.Int64
	connEnded notifier.Notifier
}

// Conns returns how many connections there are.
func (s *Server) Conns() int64 { return s.conns.Load() }

// ConnEnded returns a channel that is closed when the next connection ends.
func (s *Server) ConnEnded() <-chan struct{} { return s.connEnded.Wait() }

// followerConn is the leader's end of a connection over which another node forwards calls.
type followerConn struct {
	server *Server
	conn   net.Conn

	mu       sync.Mutex
	ready    []*forwardedCall // answered, to be sent
	inFlight int              // calls under way
	bytes    int              // of long answers in ready
	isFull   atomic.Bool      // bytes has reached its bound
	closed   bool
	wake     chan struct{}
	stop     chan struct{}

	room        notifier.Notifier // broadcasts when the connection is no longer overloaded
	writerEnded chan struct{}     // closed then
}

// forwardedCall is a call of another node.
type forwardedCall struct {
	conn     *followerConn
	number   uint64
	notTaken bool
	reader   opcodec.Reader
	batch    engine.Batch
}

// maxReadyBytes bounds the long answers that wait to be sent to one other node; beyond it nothing more is read.
const maxReadyBytes = 16 << 20

// maxInFlightCalls bounds the calls of one other node that are being decided; beyond it nothing more is read.
const maxInFlightCalls = 1 << 16

var forwardedCalls = sync.Pool{New: func() any { return new(forwardedCall) }}

// Serve decides what another node forwards until its connection breaks.
func (s *Server) Serve(conn net.Conn) {
	s.conns.Add(1)
	defer func() {
		s.conns.Add(-1)
		s.connEnded.Broadcast()
	}()
	l := &followerConn{
		server: s, conn: conn, wake: make(chan struct{}, 1), stop: make(chan struct{}), writerEnded: make(chan struct{}),
	}
	var writer sync.WaitGroup
	writer.Go(l.write)
	l.read()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	close(l.stop)
	writer.Wait()
}

// read receives calls. Their keys are valid only until Decide returns.
func (l *followerConn) read() {
	in := transport.Buffered(l.conn)
	var frame []byte
	for {
		var err error
		if frame, err = transport.ReadFrame(in, transport.KeepFrame(frame), transport.MaxFrameBytes); err != nil {
			return
		}
		for b := frame; len(b) > 0; {
			if b, err = l.decideNext(b); err != nil {
				l.server.Refused(l.conn.RemoteAddr(), err)
				return
			}
			if l.isFull.Load() && !l.awaitRoom() {
				return
			}
		}
		if !l.awaitRoom() {
			return
		}
	}
}

// awaitRoom waits while too much is in flight. It returns false when the node or the writer has ended.
func (l *followerConn) awaitRoom() bool {
	for l.isOverloaded() {
		room := l.room.Wait()
		if !l.isOverloaded() {
			break
		}
		select {
		case <-room:
		case <-l.writerEnded:
			return false
		case <-l.server.Ctx.Done():
			return false
		}
	}
	return true
}

func (l *followerConn) isOverloaded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight >= maxInFlightCalls || l.bytes >= maxReadyBytes
}

// decideNext decides the first call in b.
func (l *followerConn) decideNext(b []byte) (rest []byte, err error) {
	number, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, call.ErrFormat
	}
	g, rest, err := call.NextGroup(b[n:])
	if err != nil {
		return nil, err
	}
	r := forwardedCalls.Get().(*forwardedCall)
	ops, err := call.ReadGroup(&r.reader, g, r.batch.Ops[:0])
	if err != nil {
		return nil, err
	}
	r.conn, r.number, r.notTaken = l, number, false
	r.batch.Ops, r.batch.Atomic, r.batch.Done = ops, g.Atomic, r.answered
	if cap(r.batch.Results) < len(ops) {
		r.batch.Results = make([]engine.Result, len(ops))
	}
	r.batch.Results = r.batch.Results[:len(ops)]
	l.mu.Lock()
	l.inFlight++
	l.mu.Unlock()
	switch taken, finished := l.server.Decide(&call.Call{Batch: &r.batch, Requeue: r.rejected}); {
	case !taken:
		r.rejected(nil)
	case finished:
		r.answered()
	}
	return rest, nil
}

// rejected answers that the call was certainly not decided here.
func (r *forwardedCall) rejected(c *call.Call) {
	if c != nil {
		if won, _ := c.Claim(); !won {
			return
		}
	}
	r.notTaken = true
	r.answered()
}

// answered queues the answer for sending. Where long answers have piled up because the other node does not read them,
// its lists and long replies are dropped.
func (r *forwardedCall) answered() {
	l, bytes := r.conn, r.longBytes()
	l.mu.Lock()
	hasRoom := l.inFlight == maxInFlightCalls
	l.inFlight--
	if bytes > 0 && l.bytes >= maxReadyBytes {
		r.dropLong()
		bytes = 0
	}
	if !l.closed {
		if bytes > 0 {
			l.bytes += bytes
			l.isFull.Store(l.bytes >= maxReadyBytes)
		}
		l.ready = append(l.ready, r)
	}
	l.mu.Unlock()
	if hasRoom {
		l.room.Broadcast()
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// write sends answers, and the time when there are none.
func (l *followerConn) write() {
	pulse := time.NewTimer(clock.UntilNext(connKeepalive))
	defer pulse.Stop()
	defer close(l.writerEnded)
	defer l.conn.Close() // which ends the reader too
	var frame []byte
	var batch []*forwardedCall
	for {
		l.mu.Lock()
		hasRoom := l.bytes >= maxReadyBytes
		batch, l.ready, l.bytes = l.ready, batch[:0], 0
		l.isFull.Store(false)
		l.mu.Unlock()
		if hasRoom {
			l.room.Broadcast()
		}
		if len(batch) == 0 {
			select {
			case <-l.wake:
				continue
			case <-pulse.C:
				pulse.Reset(clock.UntilNext(connKeepalive))
			case <-l.stop:
				return
			}
		}
		for sent := 0; ; {
			var packed int
			frame, packed = l.pack(frame[:0], batch[sent:])
			_ = l.conn.SetWriteDeadline(time.Now().Add(connTimeout))
			if _, err := l.conn.Write(frame); err != nil {
				return
			}
			for _, r := range batch[sent : sent+packed] {
				forwardedCalls.Put(r)
			}
			if sent += packed; sent == len(batch) {
				break
			}
		}
		clear(batch)
	}
}

// pack writes as many answers into a frame as there is room for.
func (l *followerConn) pack(frame []byte, batch []*forwardedCall) (sealed []byte, packed int) {
	frame = append(frame, 0, 0, 0, 0)
	frame = binary.LittleEndian.AppendUint64(frame, uint64(l.server.Now()))
	for _, r := range batch {
		if len(frame) >= fullFrameBytes {
			break
		}
		packed++
		frame = binary.AppendUvarint(frame, r.number)
		if r.notTaken {
			frame = append(frame, outcomeNotTaken)
			continue
		}
		frame = append(frame, outcomeDecided)
		frame = r.appendResults(frame, transport.MaxFrameBytes)
	}
	return transport.SealFrame(frame), packed
}
