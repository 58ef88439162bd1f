package cluster

import (
	"bufio"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
)

// link is the leader's end of a connection over which another node forwards calls.
type link struct {
	node *Node
	conn net.Conn

	mu     sync.Mutex
	ready  []*remote // answered, to be sent
	under  int       // calls under way
	closed bool
	wake   chan struct{}
	stop   chan struct{}
}

// remote is a call of another node.
type remote struct {
	link     *link
	number   uint64
	notTaken bool
	reader   engine.OpReader
	own      engine.Batch
}

// maxUnderWay bounds the calls of one other node that are being decided; beyond it nothing more is read.
const maxUnderWay = 1 << 16

var remotes = sync.Pool{New: func() any { return new(remote) }}

// serveCalls decides what another node forwards until its connection breaks.
func (n *Node) serveCalls(conn net.Conn) {
	n.links.Add(1)
	defer n.links.Add(-1)
	l := &link{node: n, conn: conn, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	var writer sync.WaitGroup
	writer.Go(l.write)
	l.read()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	close(l.stop)
	writer.Wait()
}

// read takes in calls. What they refer to is only good until they are handed on, which Decide allows.
func (l *link) read() {
	in := bufio.NewReaderSize(l.conn, 64<<10)
	var frame []byte
	for {
		var err error
		if frame, err = readFrame(in, frame, maxFrameBytes); err != nil {
			return
		}
		for b := frame; len(b) > 0; {
			if b, err = l.take(b); err != nil {
				l.node.log.Warn("closed a connection for forwarded operations", "from", l.conn.RemoteAddr().String(), "error", err)
				return
			}
		}
		if !l.wait() {
			return
		}
	}
}

// wait holds the reader back while too much is under way. It reports false at the end.
func (l *link) wait() bool {
	for {
		l.mu.Lock()
		under := l.under
		l.mu.Unlock()
		if under < maxUnderWay {
			return true
		}
		select {
		case <-l.node.ctx.Done():
			return false
		case <-time.After(time.Millisecond):
		}
	}
}

// take decides the first call in b.
func (l *link) take(b []byte) (rest []byte, err error) {
	number, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, errEntry
	}
	g, rest, err := nextGroup(b[n:])
	if err != nil {
		return nil, err
	}
	r := remotes.Get().(*remote)
	ops, err := readGroup(&r.reader, g, r.own.Ops[:0])
	if err != nil {
		return nil, err
	}
	r.link, r.number, r.notTaken = l, number, false
	r.own.Ops, r.own.Atomic, r.own.Done = ops, g.atomic, r.answered
	if cap(r.own.Results) < len(ops) {
		r.own.Results = make([]engine.Result, len(ops))
	}
	r.own.Results = r.own.Results[:len(ops)]
	l.mu.Lock()
	l.under++
	l.mu.Unlock()
	reign := l.node.comingReign()
	if reign == nil {
		r.refused(nil)
		return rest, nil
	}
	c := &call{batch: &r.own, began: l.node.clock.mono(), back: r.refused}
	if l.node.decideHere(reign, c) {
		r.answered()
	}
	return rest, nil
}

// refused is told that the call was certainly not decided here.
func (r *remote) refused(c *call) {
	if c != nil {
		if won, _ := c.claim(); !won {
			return
		}
	}
	r.notTaken = true
	r.answered()
}

// answered has the answer sent.
func (r *remote) answered() {
	l := r.link
	l.mu.Lock()
	l.under--
	if !l.closed {
		l.ready = append(l.ready, r)
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// write sends answers, and the time when there are none.
func (l *link) write() {
	pulse := time.NewTicker(linkPulse)
	defer pulse.Stop()
	defer l.conn.Close() // which ends the reader too
	var frame []byte
	var batch []*remote
	for {
		l.mu.Lock()
		batch, l.ready = l.ready, batch[:0]
		l.mu.Unlock()
		if len(batch) == 0 {
			select {
			case <-l.wake:
				continue
			case <-pulse.C:
			case <-l.stop:
				return
			}
		}
		for sent := 0; ; {
			var packed int
			frame, packed = l.pack(frame[:0], batch[sent:])
			_ = l.conn.SetWriteDeadline(time.Now().Add(linkSilence))
			if _, err := l.conn.Write(frame); err != nil {
				return
			}
			for _, r := range batch[sent : sent+packed] {
				remotes.Put(r)
			}
			if sent += packed; sent == len(batch) {
				break
			}
		}
		clear(batch)
	}
}

// pack writes as many answers into a frame as there is room for.
func (l *link) pack(frame []byte, batch []*remote) (sealed []byte, packed int) {
	frame = append(frame, 0, 0, 0, 0)
	now := int64(0)
	if l.node.reign.Load() != nil {
		now = l.node.clock.stamp()
	}
	frame = binary.LittleEndian.AppendUint64(frame, uint64(now))
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
		for i := range r.own.Results {
			frame = engine.AppendResult(frame, &r.own.Results[i])
		}
	}
	return sealFrame(frame), packed
}
