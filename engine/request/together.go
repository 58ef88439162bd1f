package request

import (
	"slices"
	"sync"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
)

var togethers = sync.Pool{New: func() any { return new(requestGroup) }}

// requestGroup is the scratch of requests that are carried out together.
type requestGroup struct {
	requests [requestsAtOnce]request
	room     partRoom
	held     []*keyspace.Shard // locked
}

// request is an AcquireAll or a Check that is carried out beside others.
type request struct {
	call     group
	parts    []engine.Op
	answered bool // with an error, before anything is locked
}

// carryOut carries out a request whose shards are locked.
func (q *request) carryOut(r *Runner, shards []uint32, now int64, op *engine.Op, res *engine.Result) {
	if q.answered {
		return
	}
	q.call.acquire(r, r.keys.Instant(shards, now, op.Writes()), op, q.parts, res, false)
	if op.Verb == engine.Check {
		q.call.check.Complete(op, res)
	}
}

// ApplyTogether carries out the requests for several limits at the front of ops, in order, and returns their number. It
// works as [keyspace.Keyspace.ApplyGroup] does for operations on one key, but waits for the locks of the first request
// if it has to. For a single request it does nothing: [Runner.Apply] carries it out.
func (r *Runner) ApplyTogether(now int64, ops []engine.Op, results []engine.Result, locked bool) (n int) {
	if locked || len(ops) < 2 {
		return 0
	}
	if !ops[0].IsRequest() || !ops[1].IsRequest() {
		return r.applyReservations(now, ops, results)
	}
	g := togethers.Get().(*requestGroup)
	defer togethers.Put(g)
	n = g.lock(g.open(r, ops, results))
	if n == 0 {
		q := &g.requests[0]
		shards := r.keys.Lock(q.call.order[:len(q.parts)])
		q.call.sought = false
		q.carryOut(r, shards, now, &ops[0], &results[0])
		r.keys.Unlock(shards)
		return 1
	}
	together := g.requests[:n]
	for i := range together {
		together[i].call.touchSlots(len(together[i].parts))
	}
	for i := range together {
		together[i].call.touchRecords(len(together[i].parts))
		together[i].call.sought = true
	}
	for i := range together {
		together[i].carryOut(r, together[i].call.order[:len(together[i].parts)], now, &ops[i], &results[i])
	}
	g.unlock()
	return n
}

// open opens the requests at the front of ops that may be carried out together, and returns their number. If that is 0,
// it has opened the first.
func (g *requestGroup) open(r *Runner, ops []engine.Op, results []engine.Result) (n int) {
	keys := 0
	for ; n < min(len(g.requests), len(ops)) && ops[n].IsRequest(); n++ {
		q := &g.requests[n]
		g.room.give(&q.call, keys)
		if q.answered = !r.open(q, &ops[n], &results[n]); q.answered {
			q.parts = nil
		}
		if keys += len(q.parts); keys > requestKeysAtOnce || !algorithm.AreShort(q.parts) {
			break
		}
	}
	return n
}

// lock locks the shards of the first requests, and returns for how many it could. If that is 0, nothing is locked. It
// does not wait for a lock that another goroutine holds: that could be a deadlock.
func (g *requestGroup) lock(most int) (n int) {
	g.held = g.held[:0]
	for ; n < most; n++ {
		for i := range g.requests[n].parts {
			sh := g.requests[n].call.targets[i].shard
			if sh.TryLock() {
				g.held = append(g.held, sh)
			} else if !slices.Contains(g.held, sh) {
				if n == 0 {
					g.unlock()
				}
				return n
			}
		}
	}
	return n
}

func (g *requestGroup) unlock() {
	for _, sh := range g.held {
		sh.Unlock()
	}
}

// open finds out which limits a request asks, and where their keys are. It returns false when res has an error instead.
func (r *Runner) open(q *request, op *engine.Op, res *engine.Result) (ok bool) {
	if op.Verb == engine.Check {
		ok = r.openCheck(&q.call, op, res)
		q.parts = q.call.check.Parts
	} else {
		q.parts, ok = r.openAll(&q.call, op, res)
	}
	return ok && q.call.locate(r, q.parts, res)
}
