package cluster

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
)

const (
	// An entry is full at fullEntryBytes, some 800 decisions. With syncs that take 5 ms and 3200 requests under way, 24 KiB
	// brought a fifth more than 16, 32 or 128 would; with syncs of 0.15 ms it made no difference.
	fullEntryBytes = 24 << 10
	// entriesInFlight is how many entries are proposed and not yet decided. A second one is written while the first is
	// being replicated, which is worth it on slow disks; but it is proposed only when it is full. Otherwise both would be
	// half as large, and what an entry costs on each node hardly depends on its size: three nodes on two cores then
	// decided a sixth less with pipelines of 16 and a tenth less without.
	entriesInFlight = 2
	// maxQueuedBytes bounds what waits to be proposed; beyond it calls are refused.
	maxQueuedBytes = 64 << 20
)

// proposer packs calls into entries. Calls wait in the open entry while earlier ones are under way, so entries grow with
// the load; a call that comes alone is proposed at once.
type proposer struct {
	id    uint64 // of this process, so that it knows its own entries in the log again
	apply func(entry []byte) raft.ApplyFuture
	stamp func() int64
	back  func(*call) // takes calls that were certainly not decided

	counts *counts

	mu       sync.Mutex
	queue    []*entry // the last one is open
	room     int      // for which a new entry is made: what the last one took, and a little more
	bytes    int
	inFlight map[uint64]*entry
	writer   engine.OpWriter
	last     uint64
	underWay int // entries proposed and not yet decided

	wake  chan struct{}
	stop  chan struct{}
	ended sync.WaitGroup
	asked *sync.WaitGroup // what Raft still has to answer
}

// entry is one entry of the log on its way: calls[i] is the i-th group.
type entry struct {
	number uint64
	kind   byte
	buf    []byte
	calls  []*call
	done   chan error // of an entry that is no decision
}

func newProposer(apply func([]byte) raft.ApplyFuture, stamp func() int64, back func(*call), asked *sync.WaitGroup) *proposer {
	return &proposer{
		id: rand.Uint64(), apply: apply, stamp: stamp, back: back, asked: asked, inFlight: map[uint64]*entry{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
}

// add queues a call. It reports false if there is no room.
func (p *proposer) add(c *call) bool {
	p.mu.Lock()
	if p.bytes > maxQueuedBytes {
		p.mu.Unlock()
		return false
	}
	e := p.open()
	before := len(e.buf)
	if c.group != nil { // it was refused elsewhere before
		e.buf = append(e.buf, c.group...)
	} else {
		e.buf = appendGroup(e.buf, &p.writer, c.batch, c.which)
	}
	e.calls = append(e.calls, c)
	p.bytes += len(e.buf) - before
	p.mu.Unlock()
	p.signal()
	return true
}

// open returns the entry that is being filled. The caller holds mu.
func (p *proposer) open() *entry {
	if n := len(p.queue); n > 0 && p.queue[n-1].kind == kindDecisions && len(p.queue[n-1].buf) < fullEntryBytes {
		return p.queue[n-1]
	}
	e := &entry{kind: kindDecisions, buf: make([]byte, entryHead, max(p.room, 1<<10))}
	p.queue = append(p.queue, e)
	return e
}

// addOther queues an entry that is no decision; done is told how it went.
func (p *proposer) addOther(kind byte, body []byte) (done <-chan error) {
	e := &entry{kind: kind, buf: append(make([]byte, entryHead), body...), done: make(chan error, 1)}
	p.mu.Lock()
	p.queue = append(p.queue, e)
	p.mu.Unlock()
	p.signal()
	return e.done
}

func (p *proposer) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run proposes entries until halt.
func (p *proposer) run() {
	for e := p.next(); e != nil; e = p.next() {
		stampEntry(e.buf, e.kind, p.stamp(), p.id, e.number)
		began := time.Now()
		future := p.apply(e.buf)
		p.counts.proposed.Add(1)
		p.asked.Go(func() {
			err := future.Error()
			if err == nil {
				p.counts.latency.observe(time.Since(began))
			}
			p.finish(e, err)
			p.mu.Lock()
			p.underWay--
			p.mu.Unlock()
			p.signal()
		})
	}
}

// next takes the first entry when it may be proposed, waiting for that, and marks its calls as sent; it returns nil at the
// end.
func (p *proposer) next() *entry {
	for {
		p.mu.Lock()
		isFull := len(p.queue) > 1 // the first of several is no longer filled
		if len(p.queue) > 0 && (p.underWay == 0 || isFull && p.underWay < entriesInFlight) {
			e := p.queue[0]
			p.queue = append(p.queue[:0], p.queue[1:]...)
			p.bytes -= len(e.buf) - entryHead
			e.drop()
			if len(e.calls) == 0 && e.kind == kindDecisions {
				p.mu.Unlock()
				continue
			}
			p.room = min(len(e.buf)+len(e.buf)/4, 2*fullEntryBytes)
			p.last++
			e.number = p.last
			p.inFlight[e.number] = e
			p.underWay++
			p.mu.Unlock()
			return e
		}
		p.mu.Unlock()
		select {
		case <-p.wake:
		case <-p.stop:
			return nil
		}
	}
}

// drop marks the calls as sent and takes out those that were given up while they waited: they have been told that nothing
// was taken.
func (e *entry) drop() {
	if e.kind != kindDecisions {
		return
	}
	kept, buf := e.calls[:0], e.buf[:entryHead]
	e.eachGroup(func(c *call, group []byte) {
		if c.send() {
			kept = append(kept, c)
			buf = append(buf, group...) // onto itself until one was left out
		}
	})
	clear(e.calls[len(kept):])
	e.calls, e.buf = kept, buf
}

// eachGroup calls visit for every call with its bytes in the entry.
func (e *entry) eachGroup(visit func(c *call, group []byte)) {
	body := e.buf[entryHead:]
	for _, c := range e.calls {
		_, rest, err := nextGroup(body)
		if err != nil {
			panic("cluster: an entry that was just written does not read: " + err.Error())
		}
		size := len(body) - len(rest)
		visit(c, body[:size:size])
		body = rest
	}
}

// take hands over the calls of one of this process's entries that is being carried out; they are the caller's to answer.
func (p *proposer) take(number uint64) *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.inFlight[number]
	delete(p.inFlight, number)
	return e
}

// finish is called when an entry's fate is known as far as it will be.
func (p *proposer) finish(e *entry, err error) {
	e2 := p.take(e.number) // nil if the fsm has answered its calls
	if e.done != nil {
		e.done <- err
	}
	switch {
	case e2 == nil:
	case err == nil: // it was applied by restoring a snapshot, and with it the results are gone
		p.failAll(e, engine.Uncertain)
	case notTaken(err):
		e.eachGroup(func(c *call, group []byte) {
			if c.group = group; c.unsend() {
				p.giveBack(c)
			}
		})
	default:
		p.failAll(e, engine.NoLeader) // which is Uncertain to those that may have been decided
	}
}

func (p *proposer) giveBack(c *call) {
	if c.back != nil {
		c.back(c)
		return
	}
	p.back(c)
}

func (p *proposer) failAll(e *entry, status engine.Status) {
	for _, c := range e.calls {
		p.counts.failed(c.fail(status))
	}
}

// notTaken reports whether an entry that could not be proposed is certain not to be in any log.
func notTaken(err error) bool {
	return errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) || errors.Is(err, raft.ErrEnqueueTimeout)
}

// halt ends run and fails what still waits.
func (p *proposer) halt() {
	close(p.stop)
	p.mu.Lock()
	queue := p.queue
	p.queue = nil
	p.mu.Unlock()
	for _, e := range queue {
		p.failAll(e, engine.NoLeader)
		if e.done != nil {
			e.done <- raft.ErrRaftShutdown
		}
	}
}
