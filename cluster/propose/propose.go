// Package propose packs calls into entries of a Raft log and proposes these.
package propose

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

const (
	// An entry is full at fullEntryBytes, some 800 decisions. With syncs that take 5 ms and 3200 requests under way, 24
	// KiB brought a fifth more than 16, 32 or 128 would; with syncs of 0.15 ms it made no difference.
	fullEntryBytes = 24 << 10
	// entriesInFlight is how many entries are proposed and not yet decided. A second one is written while the first is
	// being replicated, which is worth it on slow disks; but it is proposed only when it is full. Otherwise both would be
	// half as large, and the cost of an entry on each node hardly depends on its size: three nodes on two cores then
	// decided a sixth less with pipelines of 16 and a tenth less without.
	entriesInFlight = 2
	// maxQueuedBytes bounds the calls that wait to be proposed, in bytes; further calls are refused.
	maxQueuedBytes = 64 << 20
	// maxEntryWork and maxQueuedWork bound the work of scripts in an entry, and in all that wait, in units of
	// [engine.Result.Work]: some 10 and 300 ms. Every node carries scripts out one after the other, and a leader that
	// falls behind by more would be taken for dead.
	maxEntryWork  = 640_000
	maxQueuedWork = 30 * maxEntryWork
)

// Proposer packs calls into entries. Calls wait in the open entry while earlier ones are under way, so entries grow
// with the load; a call that comes alone is proposed at once.
type Proposer struct {
	Config
	ID uint64 // of this process, to recognise its own entries in the log

	Proposed atomic.Int64 // entries
	// Begun counts rounds: entries that were proposed alone, and once the entries that several groups proposed together.
	Begun   atomic.Int64
	Latency Histogram // from proposing an entry to having applied it

	mu         sync.Mutex
	queue      []*entry // the last one is open
	paused     bool     // nothing is proposed
	room       int      // capacity of a new entry: the last one's size and a little more
	bytes      int
	work       atomic.Int64 // of scripts in queue; changed under mu
	inFlight   map[uint64]*entry
	writer     opcodec.Writer
	last       uint64
	proposedAt []time.Time // when each entry was proposed that is not yet decided

	// lateInRow is how many entries up to the last one decided were late, one after the other, and lateSince when the
	// first of them was proposed.
	lateInRow int
	lateSince time.Time

	inRound  bool // the first entry waits for the next round, unless it becomes full
	isDue    bool // the round takes the first entry
	lastSize int  // calls of the entry proposed last

	linger linger

	proposes *clock.Task // nil before Start
	ctx      context.Context
	stop     context.CancelFunc // of ctx
	Ended    sync.WaitGroup
}

// Config connects a proposer with the rest of its group.
type Config struct {
	Apply        func(entry []byte) raft.ApplyFuture
	Stamp        func() int64     // the time of an entry
	Requeue      func(*call.Call) // receives calls that certainly were not decided
	Weigh        func(ops []engine.Op) (work int)
	CountFailure func(status engine.Status) // counts the error of a call's answer; OK is none
	LateAfter    time.Duration              // an entry is late that takes longer
	Rounds       *Rounds                    // of this node's groups; nil for a group that is alone
	Outstanding  *sync.WaitGroup            // Raft's futures without a result
}

// New returns a proposer, which proposes nothing before [Proposer.Start].
func New(c Config) *Proposer {
	p := &Proposer{Config: c, ID: rand.Uint64(), inFlight: map[uint64]*entry{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// Add queues a call. A status other than OK says why it is not taken.
func (p *Proposer) Add(c *call.Call) engine.Status { return p.AddBehind(nil, c) }

// AddBehind queues a call directly after first, a new call, in the same entry: both are carried out, or neither. first
// may be nil.
func (p *Proposer) AddBehind(first, c *call.Call) engine.Status {
	status, due := p.pack(first, c)
	if due {
		p.signal()
	}
	return status
}

// Refuses reports whether there is a script among operations while too much work of scripts waits. The leader asks
// before it tries the script on its own state: a refusal must not cost as much as the script.
func (p *Proposer) Refuses(ops []engine.Op) bool {
	return p.work.Load() >= maxQueuedWork && p.scriptWork(ops) > 0
}

// pack appends a call to the open entry, after first if that is not nil. due reports whether an entry may be proposed
// now. For a call that only waits with others the proposer is not woken, which would cost two switches of goroutines.
func (p *Proposer) pack(first, c *call.Call) (status engine.Status, due bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	work := 0
	if c.Group == nil { // of one that was refused elsewhere nothing is known any longer
		work = p.scriptWork(c.Batch.Ops)
	}
	if p.bytes > maxQueuedBytes || work > 0 && p.work.Load() >= maxQueuedWork {
		return engine.Overloaded, false
	}
	e := p.open()
	before := len(e.buf)
	defer func() {
		if status != engine.OK {
			e.buf = e.buf[:before]
		}
	}()
	if first != nil {
		if e.buf, status = call.PackGroup(e.buf, &p.writer, first.Batch, nil); status != engine.OK {
			return status, false
		}
	}
	if c.Group != nil { // it was refused elsewhere before
		e.buf = append(e.buf, c.Group...)
	} else if e.buf, status = call.PackGroup(e.buf, &p.writer, c.Batch, c.Unanswered); status != engine.OK {
		return status, false
	}
	if first != nil {
		e.calls = append(e.calls, first)
	}
	e.calls = append(e.calls, c)
	p.bytes += len(e.buf) - before
	e.work += work
	p.work.Add(int64(work))
	return engine.OK, p.mayPropose() && (!p.inRound || len(p.queue) > 1) && !p.linger.holds(p.queue)
}

// mayPropose reports whether the first entry may be proposed now. The caller holds mu.
func (p *Proposer) mayPropose() bool {
	isFull := len(p.queue) > 1 // the first of several is no longer filled
	return len(p.queue) > 0 && !p.paused && (len(p.proposedAt) == 0 || isFull && len(p.proposedAt) < entriesInFlight)
}

// scriptWork is about the work of the scripts among operations.
func (p *Proposer) scriptWork(ops []engine.Op) (work int) {
	for i := range ops {
		if ops[i].Verb == engine.Script {
			work += p.Weigh(ops[i : i+1])
		}
	}
	return work
}

// open returns the entry that is being filled. The caller holds mu.
func (p *Proposer) open() *entry {
	if n := len(p.queue); n > 0 && p.queue[n-1].kind == fsm.KindDecisions && !p.queue[n-1].isFull() {
		return p.queue[n-1]
	}
	e := &entry{kind: fsm.KindDecisions, buf: make([]byte, fsm.EntryHead, max(p.room, 1<<10))}
	p.queue = append(p.queue, e)
	return e
}

// AddOther queues an entry about the cluster itself; done receives the outcome.
func (p *Proposer) AddOther(kind byte, body []byte) (done <-chan error) {
	e := &entry{kind: kind, buf: append(make([]byte, fsm.EntryHead), body...), done: make(chan error, 1)}
	p.mu.Lock()
	p.queue = append(p.queue, e)
	p.mu.Unlock()
	p.signal()
	return e.done
}

// Start begins to propose entries, until [Proposer.Halt].
func (p *Proposer) Start() {
	p.proposes = clock.Repeat(p.ctx, &p.Ended, func(context.Context) time.Duration {
		p.propose()
		return clock.Never
	})
}

func (p *Proposer) signal() {
	if p.proposes != nil {
		p.proposes.Now()
	}
}

// propose proposes the entries that may be proposed.
func (p *Proposer) propose() {
	for e := p.next(); e != nil; e = p.next() {
		fsm.StampEntry(e.buf, e.kind, p.Stamp(), p.ID, e.number)
		future := p.Apply(e.buf)
		p.Proposed.Add(1)
		p.Outstanding.Go(func() {
			err := future.Error()
			if err == nil {
				err, _ = future.Response().(error) // the log has ended before the entry was applied
			}
			if err == nil {
				p.Latency.observe(time.Since(e.began))
				p.Rounds.observe(time.Since(e.began))
			}
			p.finish(e, err)
			p.recordOutcome(e, err)
			p.signal()
		})
	}
}

// next takes the first entry if it may be proposed, and marks its calls as sent; otherwise it returns nil.
func (p *Proposer) next() *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mayPropose() && !p.linger.holds(p.queue) && !p.joinsRound() {
		e := p.queue[0]
		if !p.isDue {
			p.Begun.Add(1)
		}
		p.isDue, p.lastSize = false, len(e.calls)
		p.queue = append(p.queue[:0], p.queue[1:]...)
		p.bytes -= len(e.buf) - fsm.EntryHead
		p.work.Add(-int64(e.work))
		e.drop()
		if len(e.calls) == 0 && e.kind == fsm.KindDecisions {
			continue
		}
		p.room = min(len(e.buf)+len(e.buf)/4, 2*fullEntryBytes)
		p.last++
		e.number = p.last
		p.inFlight[e.number] = e
		e.began = time.Now()
		p.proposedAt = append(p.proposedAt, e.began)
		return e
	}
	return nil
}

// Pause keeps everything in the queue until [Proposer.Resume].
func (p *Proposer) Pause() { p.setPaused(true) }

// Resume ends a pause.
func (p *Proposer) Resume() {
	p.setPaused(false)
	p.signal()
}

func (p *Proposer) setPaused(paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = paused
}

// takeEntry removes and returns one of this process's entries in flight; the caller must answer its calls.
func (p *Proposer) takeEntry(number uint64) *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.inFlight[number]
	delete(p.inFlight, number)
	if e != nil && len(p.queue) > 0 {
		e.behind = len(p.queue[0].calls)
	}
	return e
}

// TakeCalls is takeEntry for the state machine, which answers the calls.
func (p *Proposer) TakeCalls(number uint64) []*call.Call {
	if e := p.takeEntry(number); e != nil {
		return e.calls
	}
	return nil
}

// finish is called when Raft has reported the outcome of an entry, which may be unknown.
func (p *Proposer) finish(e *entry, err error) {
	e2 := p.takeEntry(e.number) // nil if the fsm has answered its calls
	if e.done != nil {
		e.done <- err
	}
	switch {
	case e2 == nil:
	case err == nil: // it was applied by restoring a snapshot, which has no results
		p.failAll(e, engine.Uncertain)
	case notTaken(err):
		e.eachGroup(func(c *call.Call, group []byte) {
			c.Settle(false)
			if c.Group = group; c.Unsend() {
				p.requeueCall(c)
			}
		})
	default:
		p.failAll(e, engine.NoLeader) // which is Uncertain for calls that may have been decided
	}
}

func (p *Proposer) requeueCall(c *call.Call) {
	if c.Requeue != nil {
		c.Requeue(c)
		return
	}
	p.Requeue(c)
}

func (p *Proposer) failAll(e *entry, status engine.Status) {
	for _, c := range e.calls {
		c.Settle(false)
		p.CountFailure(c.Fail(status))
	}
}

// notTaken reports whether an entry that could not be proposed is certainly in no log.
func notTaken(err error) bool {
	return errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) ||
		errors.Is(err, raft.ErrEnqueueTimeout)
}

// Halt proposes nothing more, and fails what still waits.
func (p *Proposer) Halt() {
	p.stop()
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

// Expel hands all waiting calls to Requeue, to be prepared for another term.
func (p *Proposer) Expel() {
	var others, expelled []*entry
	p.mu.Lock()
	for _, e := range p.queue {
		if e.kind != fsm.KindDecisions {
			others = append(others, e)
			continue
		}
		expelled = append(expelled, e)
		p.bytes -= len(e.buf) - fsm.EntryHead
		p.work.Add(-int64(e.work))
	}
	p.queue = others
	p.mu.Unlock()
	for _, e := range expelled {
		e.eachGroup(func(c *call.Call, group []byte) {
			c.Settle(false)
			c.Group = group
			p.requeueCall(c)
		})
	}
}
