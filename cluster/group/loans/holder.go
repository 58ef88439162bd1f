// Package loans has the two sides of a process in what its group's log lends: [Holder] has the tokens that were lent to
// this process, and [Voids] ends the loans of processes that have ended.
package loans

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

const (
	lendsAtOnce  = 512              // operations on loans in one batch
	adoptEvery   = 30 * time.Second // between two searches for loans of this process that the table does not know
	closedFor    = 10 * time.Second // how long nothing is spent after a shutdown has begun, which may come to nothing
	holderSpends = 15 * time.Second // how long tokens are spent after this node was last seen to be up to date
)

// Holder has tokens that were lent to this process.
type Holder struct {
	Config
	Table *purses.Table

	isCurrent   atomic.Bool                  // the log knows this process as the node's
	imported    atomic.Bool                  // the state was replaced
	current     atomic.Pointer[clock.Moment] // when this node was last seen to be up to date
	closedUntil atomic.Int64                 // on the monotonic clock

	tuned, adopted time.Duration // when Tend last did so
}

// Config connects a holder with the rest of its group.
type Config struct {
	ID      raft.ServerID // of the node as a member
	Process string        // the name of this process: another one of the same node has another
	Ahead   time.Duration // how far ahead tokens are held; 0 holds none
	Timeout time.Duration // no operation on a loan takes longer

	Store   *store.Store
	Clock   *clock.Clock
	Machine *fsm.Machine

	Decide func(*engine.Batch) (finished bool) // decides operations on loans
	Serve  func(purses.Served)                 // takes the calls that no longer wait for tokens
}

// New returns a holder without tokens.
func New(c Config) *Holder {
	h := &Holder{Config: c, Table: purses.New(rand.Uint64() >> 1)}
	h.Table.SetAhead(c.Ahead)
	return h
}

// name is the name of this process as a holder.
func (h *Holder) name() []byte { return fsm.HolderName(h.ID, h.Process) }

// MaySpend reports whether tokens may be spent: this process is the node's, and has applied the leader's entries
// lately. A process that was removed or replaced unnoticed stops long before its loans are voided.
func (h *Holder) MaySpend(now clock.Moment) bool {
	if h.Table.Ahead() == 0 || !h.isCurrent.Load() {
		return false
	}
	seen := h.current.Load()
	return now.Mono >= h.closedUntil.Load() && seen != nil && now.Since(*seen) < holderSpends
}

// NoteCluster takes note of a new state of the cluster.
func (h *Holder) NoteCluster(c *fsm.Cluster) {
	is := c.Processes[h.ID] == h.Process
	if was := h.isCurrent.Swap(is); was && !is {
		h.Table.Drop()
	}
	if h.imported.Swap(c.Imported) != c.Imported {
		h.Table.Drop() // the state that lent them is gone
	}
}

// Tend sends what is due without a request, and returns the time until it should be called again.
func (h *Holder) Tend(context.Context) (pause time.Duration) {
	h.checkCurrent()
	if h.Table.IsIdle() {
		return clock.UntilNext(h.Table.Tick())
	}
	now := h.Clock.Mono()
	if now-h.tuned >= time.Second {
		h.Table.Tune()
		h.tuned = now
	}
	if now-h.adopted >= adoptEvery {
		h.adopt()
		h.adopted = now
	}
	if h.isCurrent.Load() {
		h.send(h.Table.Next(now, int64(now) < h.closedUntil.Load()))
	}
	return clock.UntilNext(h.Table.Tick())
}

// checkCurrent notes that this node is up to date. If it has not been for too long, the tokens are dropped: they may
// have been voided.
func (h *Holder) checkCurrent() {
	now, seen := h.Clock.Moment(), h.current.Load()
	if seen != nil && now.Since(*seen) >= holderSpends {
		h.Table.Drop()
	}
	if h.isCurrent.Load() && h.Clock.NowOrWall()-h.Machine.Now.Load() < int64(holderSpends) {
		h.current.Store(&now)
	}
}

// adopt finds loans of this process that the table does not know: an operation that was repeated may be carried out
// once more after the loan has ended.
func (h *Holder) adopt() {
	if h.Store.LentKeys() == 0 || h.Machine.Loading.Load() {
		return
	}
	own, now := string(h.name()), h.Clock.Mono()
	for i := range h.Store.Shards() {
		h.Store.ScanLoans(i, func(key, holder []byte, _ int64) {
			if string(holder) == own {
				h.Table.Adopt(now, key)
			}
		})
	}
}

// send decides operations on loans, each after its delay.
func (h *Holder) send(due []*purses.Operation) {
	now := due[:0]
	for _, o := range due {
		if o.Delay == 0 {
			now = append(now, o)
			continue
		}
		time.AfterFunc(o.Delay, func() {
			h.Table.Join(h.Clock.Mono(), o)
			h.sendBatch([]*purses.Operation{o})
		})
	}
	for batch := range slices.Chunk(now, lendsAtOnce) {
		h.sendBatch(batch)
	}
}

// sendLater is send in another goroutine, for one operation or nil: the answer may end calls that are just
// beginning to wait.
func (h *Holder) sendLater(o *purses.Operation) {
	if o != nil {
		go h.send([]*purses.Operation{o})
	}
}

func (h *Holder) sendBatch(due []*purses.Operation) {
	b := &engine.Batch{Ops: make([]engine.Op, len(due)), Results: make([]engine.Result, len(due))}
	who := h.name()
	for i, o := range due {
		b.Ops[i] = o.Op(who)
	}
	sent := h.Clock.Moment()
	b.Done = func() {
		now := h.Clock.Moment()
		seen := h.current.Load()
		isFresh := now.Since(sent) < holderSpends && seen != nil && now.Since(*seen) < holderSpends
		for i, o := range due {
			served, next := h.Table.Hear(time.Duration(now.Mono), h.Clock.NowOrWall(), o, &b.Results[i], isFresh)
			h.Serve(served)
			h.sendLater(next)
		}
	}
	if h.Decide(b) {
		b.Done()
	}
}

// ReturnAll gives all tokens back, before this node ends.
func (h *Holder) ReturnAll(ctx context.Context) {
	h.closedUntil.Store(int64(h.Clock.Mono() + closedFor))
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	for h.isCurrent.Load() && h.Table.Keys() > 0 && ctx.Err() == nil {
		h.send(h.Table.Next(h.Clock.Mono(), true))
		clock.Sleep(ctx, 2*time.Millisecond)
	}
}

// Report is this node's report on its process.
func (h *Holder) Report() fsm.ProcessBody {
	return fsm.ProcessBody{ID: h.ID, Process: h.Process, After: h.Machine.Cluster.Load().Processes[h.ID]}
}
