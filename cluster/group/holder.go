package group

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/engine"
)

const (
	lendsAtOnce  = 512              // operations on loans in one batch
	adoptEvery   = 30 * time.Second // between two searches for loans of this process that it does not know
	closedFor    = 10 * time.Second // after a shutdown was begun that may not come to its end
	holderSpends = 15 * time.Second // the time for which tokens are spent after this node was seen to be up to date
)

// holder holds tokens that were lent to this process, and decides requests from them.
type holder struct {
	opt     *Config
	clock   *clock.Clock
	fsm     *fsm.Machine
	raft    *raftnode.Node
	decider *decider

	id      raft.ServerID
	process string // of this process: another one of the same node has another
	table   *purses.Table

	isCurrent   atomic.Bool // the log knows this process as the node's
	imported    atomic.Bool // the state was replaced
	current     atomic.Pointer[clock.Moment]
	closedUntil atomic.Int64 // on the monotonic clock

	tuned, adopted time.Duration // when tend last did so
}

// name is the name of this process as a holder.
func (h *holder) name() []byte { return fsm.HolderName(h.id, h.process) }

// mayDecide reports whether tokens may be spent: this process is the node's, and has applied the leader's entries lately. A process that
// was removed or replaced unnoticed stops long before its loans are voided. The clocks are read once for a batch.
func (h *holder) mayDecide() (at clock.Reading, may bool) {
	if h.table.Ahead() == 0 || !h.isCurrent.Load() {
		return at, false
	}
	now, seen := h.clock.Moment(), h.current.Load()
	may = now.Mono >= h.closedUntil.Load() && seen != nil && now.Since(*seen) < holderSpends
	return clock.Reading{Mono: time.Duration(now.Mono), Cluster: h.clock.NowOrWall()}, may
}

// noteCluster takes a new state of the cluster.
func (h *holder) noteCluster(c *fsm.Cluster) {
	is := c.Processes[h.id] == h.process
	if was := h.isCurrent.Swap(is); was && !is {
		h.table.Drop()
	}
	if h.imported.Swap(c.Imported) != c.Imported {
		h.table.Drop() // the state that lent them is gone
	}
}

// tend keeps the loans.
func (h *holder) tend(context.Context) (pause time.Duration) {
	h.checkCurrent()
	if h.table.IsIdle() {
		return clock.UntilNext(h.table.Tick())
	}
	now := h.clock.Mono()
	if now-h.tuned >= time.Second {
		h.table.Tune()
		h.tuned = now
	}
	if now-h.adopted >= adoptEvery {
		h.adopt()
		h.adopted = now
	}
	if h.isCurrent.Load() {
		h.send(h.table.Next(now, int64(now) < h.closedUntil.Load()))
	}
	return clock.UntilNext(h.table.Tick())
}

// checkCurrent notes that this node is up to date, or drops the tokens if it has not been for too long: they may have been voided.
func (h *holder) checkCurrent() {
	now, seen := h.clock.Moment(), h.current.Load()
	if seen != nil && now.Since(*seen) >= holderSpends {
		h.table.Drop()
	}
	if h.isCurrent.Load() && h.clock.NowOrWall()-h.fsm.Now.Load() < int64(holderSpends) {
		h.current.Store(&now)
	}
}

// adopt finds loans of this process that it does not know: an operation that was repeated may be carried out once more after the
// loan has ended.
func (h *holder) adopt() {
	if h.opt.Store.LentKeys() == 0 || h.fsm.Loading.Load() {
		return
	}
	own, now := string(h.name()), h.clock.Mono()
	for i := range h.opt.Store.Shards() {
		h.opt.Store.ScanLoans(i, func(key, holder []byte, _ int64) {
			if string(holder) == own {
				h.table.Adopt(now, key)
			}
		})
	}
}

// send has operations on loans carried out, each after its delay.
func (h *holder) send(due []*purses.Operation) {
	now := due[:0]
	for _, o := range due {
		if o.Delay == 0 {
			now = append(now, o)
			continue
		}
		time.AfterFunc(o.Delay, func() {
			h.table.Join(h.clock.Mono(), o)
			h.sendBatch([]*purses.Operation{o})
		})
	}
	for batch := range slices.Chunk(now, lendsAtOnce) {
		h.sendBatch(batch)
	}
}

func (h *holder) sendBatch(due []*purses.Operation) {
	b := &engine.Batch{Ops: make([]engine.Op, len(due)), Results: make([]engine.Result, len(due))}
	who := h.name()
	for i, o := range due {
		b.Ops[i] = o.Op(who)
	}
	sent := h.clock.Moment()
	b.Done = func() {
		now := h.clock.Moment()
		seen := h.current.Load()
		isFresh := now.Since(sent) < holderSpends && seen != nil && now.Since(*seen) < holderSpends
		for i, o := range due {
			h.finish(h.table.Hear(time.Duration(now.Mono), h.clock.NowOrWall(), o, &b.Results[i], isFresh))
		}
	}
	if h.decider.decideInLog(b) {
		b.Done()
	}
}

// returnAll gives everything back, before this node ends.
func (h *holder) returnAll(ctx context.Context) {
	h.closedUntil.Store(int64(h.clock.Mono() + closedFor))
	ctx, cancel := context.WithTimeout(ctx, h.opt.DecideTimeout)
	defer cancel()
	for h.isCurrent.Load() && h.table.Keys() > 0 && ctx.Err() == nil {
		h.send(h.table.Next(h.clock.Mono(), true))
		clock.Sleep(ctx, 2*time.Millisecond)
	}
}

// report is this node's report on its process.
func (h *holder) report() fsm.ProcessBody {
	return fsm.ProcessBody{ID: h.id, Process: h.process, After: h.fsm.Cluster.Load().Processes[h.id]}
}

// connectHolder creates the parts that hold and void loans.
func (g *Group) connectHolder() {
	g.holder = &holder{opt: &g.opt, clock: g.clock, fsm: g.fsm, raft: g.raft, decider: g.decider, id: g.raft.ID,
		process: fmt.Sprintf("%016x", g.proposer.ID), table: purses.New(rand.Uint64() >> 1)}
	g.holder.table.SetAhead(g.opt.Ahead)
	if g.opt.Allowance == nil {
		g.opt.Allowance = func() bool { return g.holder.table.Ahead() > 0 }
	}
	g.decider.holder = g.holder
	g.voids = &voids{opt: &g.opt, clock: g.clock, fsm: g.fsm, role: g.role, decider: g.decider, metrics: g.metrics, log: g.log}
}
