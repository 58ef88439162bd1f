package forward

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
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

// leaderConn is a connection to a leader. Its fields are guarded by the client's lock.
type leaderConn struct {
	conn    net.Conn
	pending map[uint64]*call.Call // sent, not answered
	refused bool                  // the node does not lead: nothing more is sent
	done    chan struct{}         // closed when it was refused or broke
	drained chan struct{}         // closed when nothing more is sent and all is answered
	closing bool                  // nothing more is sent
}

// serve forwards over one connection until it breaks or another node leads. A goroutine waits for the outstanding
// answers.
func (f *Client) serve(ctx context.Context, conn net.Conn, address string) {
	r := &leaderConn{conn: conn, pending: map[uint64]*call.Call{}, done: make(chan struct{}), drained: make(chan struct{})}
	read := make(chan struct{})
	f.leaving.Go(func() {
		defer close(read)
		f.read(r)
		f.stopSending(r)
	})
	f.write(ctx, r, address)
	f.stopSending(r)
	f.leaving.Go(func() {
		select {
		case <-r.drained:
		case <-read:
		case <-ctx.Done():
		case <-time.After(f.Grace):
		}
		_ = conn.Close()
		<-read
		f.failPending(r)
	})
	moved := f.LeaderChanged.Wait()
	if f.wasRefused(r) && f.Leader() == address {
		notifier.Pause(ctx, moved, redialDelay) // do not ask a node again at once that does not lead
	}
}

// stopSending ends the sending over a connection.
func (f *Client) stopSending(r *leaderConn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !r.closing {
		r.closing = true
		close(r.done)
		f.checkDrained(r)
	}
}

// checkDrained closes drained if the connection is closing and no answer is outstanding. The caller holds the lock.
func (f *Client) checkDrained(r *leaderConn) {
	if r.closing && len(r.pending) == 0 {
		select {
		case <-r.drained:
		default:
			close(r.drained)
		}
	}
}

func (f *Client) wasRefused(r *leaderConn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return r.refused
}

// write sends the waiting calls. It returns when the connection is no longer usable.
func (f *Client) write(ctx context.Context, r *leaderConn, address string) {
	check := time.NewTimer(clock.UntilNext(connKeepalive))
	defer check.Stop()
	var frame []byte
	for {
		moved := f.LeaderChanged.Wait()
		if f.Leader() != address {
			return
		}
		frame = f.pack(r, frame[:0])
		if len(frame) > 0 {
			_ = r.conn.SetWriteDeadline(time.Now().Add(connTimeout))
			if _, err := r.conn.Write(frame); err != nil {
				return
			}
			continue
		}
		select {
		case <-f.wake:
		case <-moved:
		case <-check.C:
			check.Reset(clock.UntilNext(connKeepalive))
		case <-r.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// pack moves waiting calls into a frame, and returns nothing if none waits or the connection is being left.
func (f *Client) pack(r *leaderConn, frame []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.closing {
		return frame
	}
	sent := 0
	for _, c := range f.waiting {
		if len(frame) >= fullFrameBytes {
			break
		}
		sent++
		f.bytes -= len(c.Group)
		if !c.Send() {
			continue
		}
		if len(frame) == 0 {
			frame = append(frame, 0, 0, 0, 0)
		}
		f.last++
		c.ID = f.last
		r.pending[c.ID] = c
		f.Forwarded.Add(1)
		frame = append(binary.AppendUvarint(frame, c.ID), c.Group...)
	}
	f.waiting = append(f.waiting[:0], f.waiting[sent:]...)
	if len(frame) > 0 {
		transport.SealFrame(frame)
	}
	return frame
}

// read takes in answers until the connection breaks.
func (f *Client) read(r *leaderConn) {
	in := transport.Buffered(r.conn)
	var frame []byte
	for {
		_ = r.conn.SetReadDeadline(time.Now().Add(connTimeout))
		var err error
		if frame, err = transport.ReadFrame(in, transport.KeepFrame(frame), transport.MaxFrameBytes); err != nil {
			return
		}
		if err := f.readAnswers(r, frame); err != nil {
			return
		}
	}
}

var errAnswer = errors.New("an answer that does not read")

func (f *Client) readAnswers(r *leaderConn, b []byte) error {
	if len(b) < 8 {
		return errAnswer
	}
	if now := int64(binary.LittleEndian.Uint64(b)); now > 0 {
		f.ObserveTime(now)
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
			if b, err = f.readResults(c, b); err != nil {
				return err
			}
		case outcomeNotTaken:
			f.refuse(r) // before the call waits again, or it would be sent here once more
			if c.Unsend() {
				f.Requeue(c)
			}
		default:
			f.Fail(c, engine.NoLeader)
			return errAnswer
		}
	}
	return nil
}

// refuse leaves a connection to a node that does not lead.
func (f *Client) refuse(r *leaderConn) {
	f.mu.Lock()
	r.refused = true
	f.mu.Unlock()
	f.stopSending(r)
}

func (f *Client) takePending(r *leaderConn, id uint64) *call.Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := r.pending[id]
	delete(r.pending, id)
	f.checkDrained(r)
	return c
}

// readResults fills in the results of a call. The answer of a call that was given up is skipped.
func (f *Client) readResults(c *call.Call, b []byte) (rest []byte, err error) {
	count, mine := c.Ops, false
	if mine, _ = c.Claim(); mine {
		c.Each(func(_ *engine.Op, res *engine.Result) {
			if err == nil {
				b, err = opcodec.ReadResult(b, res)
			}
			if err != nil {
				res.Status, res.Allowed = engine.Uncertain, false
			}
		})
		c.Batch.Done()
		return b, err
	}
	var res engine.Result
	for range count {
		if b, err = opcodec.ReadResult(b, &res); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// failPending handles the calls whose answers were lost with their connection. A call that may have changed something
// is uncertain, and a read-only call is sent again, a few times.
func (f *Client) failPending(r *leaderConn) {
	f.mu.Lock()
	pending := r.pending
	r.pending = nil
	f.mu.Unlock()
	for _, c := range pending {
		if c.BrokenConns++; c.BrokenConns <= maxResends && c.IsOpen() && !c.Changes && c.Unsend() {
			f.Requeue(c)
			continue
		}
		f.Fail(c, engine.NoLeader)
	}
}
