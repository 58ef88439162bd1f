package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
)

const (
	holderTick   = 50 * time.Millisecond // between two looks at silent keys
	lendsAtOnce  = 512                   // operations on loans in one batch
	adoptEvery   = 30 * time.Second      // between two searches for loans of this process that it does not know
	closedFor    = 10 * time.Second      // after a shutdown was begun that may not come to its end
	holderSpends = 15 * time.Second      // the time for which tokens are spent after this node was seen to be up to date
)

// holder holds tokens that were lent to this process, and decides requests from them.
type holder struct {
	opt     *Options
	clock   *clock
	fsm     *fsm
	raft    *raftGroup
	decider *decider

	id      raft.ServerID
	process string // of this process: another one of the same node has another
	table   *purses.Table

	isCurrent   atomic.Bool // the log knows this process as the node's
	imported    atomic.Bool // the state was replaced
	current     atomic.Pointer[moment]
	closedUntil atomic.Int64 // on the monotonic clock
}

// name is the name of this process as a holder.
func (h *holder) name() []byte { return holderName(h.id, h.process) }

func holderName(id raft.ServerID, process string) []byte {
	return fmt.Appendf(nil, "%s%s/%s", keyspace.NodeHolder, id, process)
}

// splitHolder is the node and the process that holderName made the name of.
func splitHolder(name []byte) (id raft.ServerID, process string, ok bool) {
	rest, ok := strings.CutPrefix(string(name), keyspace.NodeHolder)
	at := strings.LastIndexByte(rest, '/')
	if !ok || at < 0 {
		return "", "", false
	}
	return raft.ServerID(rest[:at]), rest[at+1:], true
}

// mayDecide reports whether tokens may be spent: this process is the node's, and has applied the leader's entries lately. A process that
// was removed or replaced unnoticed stops long before its loans are voided.
func (h *holder) mayDecide() bool {
	if h.table.Ahead() == 0 || !h.isCurrent.Load() || int64(h.clock.mono()) < h.closedUntil.Load() {
		return false
	}
	seen := h.current.Load()
	return seen != nil && h.clock.moment().since(*seen) < holderSpends
}

// noteCluster takes a new state of the cluster.
func (h *holder) noteCluster(c *clusterState) {
	is := c.Processes[h.id] == h.process
	if was := h.isCurrent.Swap(is); was && !is {
		h.table.Drop()
	}
	if h.imported.Swap(c.Imported) != c.Imported {
		h.table.Drop() // the state that lent them is gone
	}
}

// run keeps the loans until ctx is done.
func (h *holder) run(ctx context.Context) {
	tuned, adopted := time.Duration(0), time.Duration(0)
	every(ctx, holderTick, func() {
		h.checkCurrent()
		if h.table.IsIdle() {
			return
		}
		now := h.clock.mono()
		if now-tuned >= time.Second {
			h.table.Tune()
			tuned = now
		}
		if now-adopted >= adoptEvery {
			h.adopt()
			adopted = now
		}
		if h.isCurrent.Load() {
			h.send(h.table.Next(now, int64(now) < h.closedUntil.Load()))
		}
	})
}

// checkCurrent notes that this node is up to date, or drops the tokens if it has not been for too long: they may have been voided.
func (h *holder) checkCurrent() {
	now, seen := h.clock.moment(), h.current.Load()
	if seen != nil && now.since(*seen) >= holderSpends {
		h.table.Drop()
	}
	if h.isCurrent.Load() && h.clock.nowOrWall()-h.fsm.now.Load() < int64(holderSpends) {
		h.current.Store(&now)
	}
}

// adopt finds loans of this process that it does not know: an operation that was repeated may be carried out once more after the
// loan has ended.
func (h *holder) adopt() {
	if h.opt.Store.LentKeys() == 0 || h.fsm.loading.Load() {
		return
	}
	own, now := string(h.name()), h.clock.mono()
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
			h.table.Join(h.clock.mono(), o)
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
	sent := h.clock.moment()
	b.Done = func() {
		now := h.clock.moment()
		seen := h.current.Load()
		isFresh := now.since(sent) < holderSpends && seen != nil && now.since(*seen) < holderSpends
		for i, o := range due {
			h.finish(h.table.Hear(time.Duration(now.mono), h.clock.nowOrWall(), o, &b.Results[i], isFresh))
		}
	}
	if h.decider.decideInLog(b) {
		b.Done()
	}
}

// returnAll gives everything back, before this node ends.
func (h *holder) returnAll(ctx context.Context) {
	h.closedUntil.Store(int64(h.clock.mono() + closedFor))
	ctx, cancel := context.WithTimeout(ctx, h.opt.DecideTimeout)
	defer cancel()
	for h.isCurrent.Load() && h.table.Keys() > 0 && ctx.Err() == nil {
		h.send(h.table.Next(h.clock.mono(), true))
		sleep(ctx, 2*time.Millisecond)
	}
}

// report is this node's report on its process.
func (h *holder) report() processBody {
	return processBody{h.id, h.process, h.fsm.cluster.Load().Processes[h.id]}
}

// connectHolder creates the parts that hold and void loans.
func (n *Node) connectHolder() {
	n.holder = &holder{opt: &n.opt, clock: n.clock, fsm: n.fsm, raft: n.raft, decider: n.decider, id: n.id,
		process: fmt.Sprintf("%016x", n.proposer.id), table: purses.New(rand.Uint64() >> 1)}
	n.holder.table.SetAhead(n.opt.Ahead)
	if n.opt.Share == nil {
		n.opt.Share = func() bool { return n.holder.table.Ahead() > 0 }
	}
	n.decider.holder = n.holder
	n.voids = &voids{opt: &n.opt, clock: n.clock, fsm: n.fsm, role: n.role, decider: n.decider, metrics: n.metrics, log: n.log}
}
