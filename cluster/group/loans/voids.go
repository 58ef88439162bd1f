package loans

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

// VoidRemovedAfter is the time after which the loans of a removed member are voided. The member stops spending them
// long before.
const VoidRemovedAfter = 60 * time.Second

// Voids ends the loans of processes that have ended, while this node leads: all of their tokens count as spent.
type Voids struct {
	Store   *store.Store
	Clock   *clock.Clock
	Machine *fsm.Machine
	Log     *oncelog.Log
	Term    func() uint64                       // in which this node leads, 0 if it does not
	Decide  func(*engine.Batch) (finished bool) // decides operations on loans

	Tokens atomic.Int64 // of processes that have ended, while this node led

	term uint64
	gone map[string]time.Duration // holders that are no member, and since when in this term
}

// Look voids the loans of processes that have ended, if this node leads.
func (v *Voids) Look(ctx context.Context) {
	term := v.Term()
	if term == 0 || v.Store.LentKeys() == 0 {
		return
	}
	if term != v.term {
		v.term, v.gone = term, map[string]time.Duration{}
	}
	for i := range v.Store.Shards() {
		v.voidIn(ctx, i)
	}
}

// voidIn voids the loans of ended processes in one part of the store.
func (v *Voids) voidIn(ctx context.Context, shard int) {
	var ops []engine.Op
	v.Store.ScanLoans(shard, func(key, holder []byte, _ int64) {
		if v.hasEnded(holder) {
			ops = append(ops, engine.Op{Verb: engine.Void, Key: key, Who: holder, Options: engine.Force})
		}
	})
	for len(ops) > 0 && ctx.Err() == nil {
		n := min(len(ops), lendsAtOnce)
		v.void(ctx, ops[:n])
		ops = ops[n:]
	}
}

// hasEnded reports whether a holder is a process that no longer spends.
func (v *Voids) hasEnded(holder []byte) bool {
	id, process, isNode := fsm.SplitHolder(holder)
	if !isNode {
		return false
	}
	known := v.Machine.Cluster.Load()
	current, isRecorded := known.Processes[id]
	if isRecorded {
		delete(v.gone, string(holder))
		return current != process
	}
	since, seen := v.gone[string(holder)]
	if !seen {
		v.gone[string(holder)] = v.Clock.Mono()
		return false
	}
	return v.Clock.Mono()-since >= VoidRemovedAfter
}

func (v *Voids) void(ctx context.Context, ops []engine.Op) {
	done := make(chan struct{})
	b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Done: func() { close(done) }}
	if !v.Decide(b) {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
	tokens := int64(0)
	for i := range b.Results {
		if b.Results[i].Status == engine.OK {
			tokens += b.Results[i].Granted
		}
	}
	v.Tokens.Add(tokens)
	v.Log.Info("tokens held by processes that have ended count as spent", "keys", len(ops), "tokens", tokens)
}
