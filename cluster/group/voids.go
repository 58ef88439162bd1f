package group

import (
	"context"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/engine"
)

// VoidRemovedAfter is the time after which the loans of a removed member are voided. It stops to spend them long before.
const VoidRemovedAfter = 60 * time.Second

// voids ends the loans of processes that have ended, while this node leads: all of their tokens count as spent.
type voids struct {
	opt     *Config
	clock   *clock.Clock
	fsm     *fsm.Machine
	role    *leaderRole
	decider *decider
	metrics *metrics
	log     *oncelog.Log

	leadership *leadership
	gone       map[string]time.Duration // holders that are no member, and since when under this leadership
}

// look voids the loans of processes that have ended, if this node leads.
func (v *voids) look(ctx context.Context) {
	leads := v.role.active()
	if leads == nil || v.opt.Store.LentKeys() == 0 {
		return
	}
	if leads != v.leadership {
		v.leadership, v.gone = leads, map[string]time.Duration{}
	}
	for i := range v.opt.Store.Shards() {
		v.voidIn(ctx, i)
	}
}

// voidIn voids the loans of ended processes in one part of the store.
func (v *voids) voidIn(ctx context.Context, shard int) {
	var ops []engine.Op
	v.opt.Store.ScanLoans(shard, func(key, holder []byte, _ int64) {
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
func (v *voids) hasEnded(holder []byte) bool {
	id, process, isNode := fsm.SplitHolder(holder)
	if !isNode {
		return false
	}
	known := v.fsm.Cluster.Load()
	current, isRecorded := known.Processes[id]
	if isRecorded {
		delete(v.gone, string(holder))
		return current != process
	}
	since, seen := v.gone[string(holder)]
	if !seen {
		v.gone[string(holder)] = v.clock.Mono()
		return false
	}
	return v.clock.Mono()-since >= VoidRemovedAfter
}

func (v *voids) void(ctx context.Context, ops []engine.Op) {
	done := make(chan struct{})
	b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Done: func() { close(done) }}
	if !v.decider.decideInLog(b) {
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
	v.metrics.voided.Add(tokens)
	v.log.Info("tokens of processes that have ended count as spent", "keys", len(ops), "tokens", tokens)
}
