package cluster

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
)

// Frames on a connection for calls. To the leader:
//
//	varint  number of the call
//	…       a group, as in an entry of the log; and so on
//
// and back:
//
//	8       the cluster's time, nanoseconds since the Unix epoch
//	varint  number of the call
//	1       outcomeDecided and a result for each operation, or outcomeNotTaken; and so on
const (
	outcomeDecided  = 1
	outcomeNotTaken = 2 // the node does not lead, or no longer: nothing was decided, ask another
)

const (
	// maxWaitingBytes bounds what waits for a leader; beyond it calls are refused.
	maxWaitingBytes = 64 << 20
	// fullFrameBytes is where a frame is sent and another begun.
	fullFrameBytes = 256 << 10
	// linkSilence is how long the leader may say nothing before the connection is given up; it tells the time far more
	// often than that.
	linkSilence = 2 * time.Second
	// linkPulse is how often it does.
	linkPulse = 100 * time.Millisecond
	// linkRetry is how long to wait before trying to reach the same leader again; another one is tried at once.
	linkRetry = 20 * time.Millisecond
)

// forwarder takes calls to the leader, many in a frame, and their answers back.
type forwarder struct {
	peers  *peers
	clock  *clock
	leader func() (address string) // "" while none is known, or while it is this node
	decide func(*call) bool        // takes a call if this node has come to lead meanwhile
	counts *counts
	moved  bell          // rings when somebody else leads, or nobody
	grace  time.Duration // how long who led before may take for the answers it still owes

	mu      sync.Mutex
	waiting []*call // for a leader, or for the writer
	bytes   int     // of their groups
	last    uint64
	wake    chan struct{}
	leaving sync.WaitGroup // connections that only wait for answers
}

// route is a connection to a leader. Its fields are guarded by the forwarder's lock.
type route struct {
	conn    net.Conn
	pending map[uint64]*call // sent, not answered
	refused bool             // who is there does not lead: nothing more is sent
	over    chan struct{}    // closed when it was refused or broke
	empty   chan struct{}    // closed when nothing more is sent and all is answered
	left    bool             // nothing more is sent
}

func newForwarder() *forwarder {
	return &forwarder{wake: make(chan struct{}, 1)}
}

// add queues a call, whose group is set. It reports false if there is no room.
func (f *forwarder) add(c *call) bool {
	f.mu.Lock()
	if f.bytes > maxWaitingBytes {
		f.mu.Unlock()
		return false
	}
	f.waiting = append(f.waiting, c)
	f.bytes += len(c.group)
	f.mu.Unlock()
	f.signal()
	return true
}

// back queues a call again that was certainly not decided where it was.
func (f *forwarder) back(c *call) {
	if !f.add(c) {
		f.counts.failed(c.fail(engine.Overloaded))
	}
}

func (f *forwarder) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run keeps a connection to the leader, whoever that is, until ctx is done.
func (f *forwarder) run(ctx context.Context) {
	for ctx.Err() == nil {
		moved := f.moved.rings()
		address := f.leader()
		if address == "" {
			f.hereOrLater()
			pause(ctx, moved, linkRetry)
			continue
		}
		conn, err := f.reach(ctx, moved, address)
		if err != nil {
			pause(ctx, moved, linkRetry)
			continue
		}
		f.serve(ctx, conn, address)
	}
	f.leaving.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.waiting {
		f.counts.failed(c.fail(engine.NoLeader))
	}
	f.waiting = nil
}

// pause sleeps for a time, or until a bell rings.
func pause(ctx context.Context, rings <-chan struct{}, d time.Duration) {
	select {
	case <-rings:
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// reach makes a connection to the leader, and gives up as soon as somebody else leads: one that is gone may leave it
// without an answer for long.
func (f *forwarder) reach(ctx context.Context, moved <-chan struct{}, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-moved:
			cancel()
		case <-ctx.Done():
		}
	}()
	conn, _, err := f.peers.dial(ctx, address, forCalls)
	return conn, err
}

// hereOrLater hands what waits to this node itself, if it leads.
func (f *forwarder) hereOrLater() {
	f.mu.Lock()
	waiting := f.waiting
	f.waiting, f.bytes = nil, 0
	f.mu.Unlock()
	for i, c := range waiting {
		if !c.isOpen() {
			continue
		}
		if !f.decide(c) {
			f.mu.Lock()
			for _, c := range waiting[i:] {
				f.bytes += len(c.group)
			}
			f.waiting = append(waiting[i:len(waiting):len(waiting)], f.waiting...)
			f.mu.Unlock()
			return
		}
	}
}

// serve forwards over one connection until it breaks or somebody else leads. The answers that are owed then are waited
// for in the background.
func (f *forwarder) serve(ctx context.Context, conn net.Conn, address string) {
	r := &route{conn: conn, pending: map[uint64]*call{}, over: make(chan struct{}), empty: make(chan struct{})}
	read := make(chan struct{})
	f.leaving.Go(func() {
		defer close(read)
		f.read(r)
		f.leave(r)
	})
	f.write(ctx, r, address)
	f.leave(r)
	f.leaving.Go(func() {
		select {
		case <-r.empty:
		case <-read:
		case <-ctx.Done():
		case <-time.After(f.grace):
		}
		_ = conn.Close()
		<-read
		f.lost(r)
	})
	moved := f.moved.rings()
	if f.wasRefused(r) && f.leader() == address {
		pause(ctx, moved, linkRetry) // whoever does not lead is not to be asked again at once
	}
}

// leave has nothing more sent over a connection.
func (f *forwarder) leave(r *route) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !r.left {
		r.left = true
		close(r.over)
		f.emptied(r)
	}
}

// emptied notes when nothing is owed any more. The caller holds the lock.
func (f *forwarder) emptied(r *route) {
	if r.left && len(r.pending) == 0 {
		select {
		case <-r.empty:
		default:
			close(r.empty)
		}
	}
}

func (f *forwarder) wasRefused(r *route) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return r.refused
}

// write sends what waits. It returns when the connection is of no more use.
func (f *forwarder) write(ctx context.Context, r *route, address string) {
	check := time.NewTicker(linkPulse)
	defer check.Stop()
	var frame []byte
	for {
		moved := f.moved.rings()
		if f.leader() != address {
			return
		}
		frame = f.pack(r, frame[:0])
		if len(frame) > 0 {
			_ = r.conn.SetWriteDeadline(time.Now().Add(linkSilence))
			if _, err := r.conn.Write(frame); err != nil {
				return
			}
			continue
		}
		select {
		case <-f.wake:
		case <-moved:
		case <-check.C:
		case <-r.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// pack moves waiting calls into a frame, and returns nothing if none waits or the connection is being left.
func (f *forwarder) pack(r *route, frame []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.left {
		return frame
	}
	sent := 0
	for _, c := range f.waiting {
		if len(frame) >= fullFrameBytes {
			break
		}
		sent++
		f.bytes -= len(c.group)
		if !c.send() {
			continue
		}
		if len(frame) == 0 {
			frame = append(frame, 0, 0, 0, 0)
		}
		f.last++
		c.id = f.last
		r.pending[c.id] = c
		f.counts.forwarded.Add(1)
		frame = append(binary.AppendUvarint(frame, c.id), c.group...)
	}
	f.waiting = append(f.waiting[:0], f.waiting[sent:]...)
	if len(frame) > 0 {
		sealFrame(frame)
	}
	return frame
}

// read takes in answers until the connection breaks.
func (f *forwarder) read(r *route) {
	in := bufio.NewReaderSize(r.conn, 64<<10)
	var frame []byte
	for {
		_ = r.conn.SetReadDeadline(time.Now().Add(linkSilence))
		var err error
		if frame, err = readFrame(in, frame, maxFrameBytes); err != nil {
			return
		}
		if err := f.answers(r, frame); err != nil {
			return
		}
	}
}

var errAnswer = errors.New("an answer that does not read")

func (f *forwarder) answers(r *route, b []byte) error {
	if len(b) < 8 {
		return errAnswer
	}
	if now := int64(binary.LittleEndian.Uint64(b)); now > 0 {
		f.clock.hear(now)
	}
	b = b[8:]
	for len(b) > 0 {
		id, n := binary.Uvarint(b)
		if n <= 0 || len(b) == n {
			return errAnswer
		}
		outcome := b[n]
		b = b[n+1:]
		c := f.takePending(r, id)
		if c == nil {
			return errAnswer
		}
		var err error
		switch outcome {
		case outcomeDecided:
			if b, err = f.decided(c, b); err != nil {
				return err
			}
		case outcomeNotTaken:
			f.refuse(r) // before the call waits again, or it would be sent here once more
			if c.unsend() {
				f.back(c)
			}
		default:
			f.counts.failed(c.fail(engine.NoLeader))
			return errAnswer
		}
	}
	return nil
}

// refuse leaves a connection to a node that does not lead.
func (f *forwarder) refuse(r *route) {
	f.mu.Lock()
	r.refused = true
	f.mu.Unlock()
	f.leave(r)
}

func (f *forwarder) takePending(r *route, id uint64) *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := r.pending[id]
	delete(r.pending, id)
	f.emptied(r)
	return c
}

// decided fills in the results of a call. A call that was given up meanwhile has its answer read over.
func (f *forwarder) decided(c *call, b []byte) (rest []byte, err error) {
	count, mine := c.ops, false
	if mine, _ = c.claim(); mine {
		c.each(func(_ *engine.Op, res *engine.Result) {
			if err == nil {
				b, err = engine.ReadResult(b, res)
			}
			if err != nil {
				res.Status, res.Allowed = engine.Uncertain, false
			}
		})
		c.batch.Done()
		return b, err
	}
	var res engine.Result
	for range count {
		if b, err = engine.ReadResult(b, &res); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// lost deals with the calls whose answers will not come any more: those that may have been decided are uncertain, those
// that only read are asked again.
func (f *forwarder) lost(r *route) {
	f.mu.Lock()
	pending := r.pending
	r.pending = nil
	f.mu.Unlock()
	for _, c := range pending {
		if c.isOpen() && !c.changes && c.unsend() {
			f.back(c)
			continue
		}
		f.counts.failed(c.fail(engine.NoLeader))
	}
}
