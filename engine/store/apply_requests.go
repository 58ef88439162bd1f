package store

import (
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
)

// The most requests for several limits that are looked up together, and the most keys that they have. More would hold more locks, and gain
// little.
const (
	requestsAtOnce    = 8
	requestKeysAtOnce = 16
)

// requestGroup is the scratch of requests that are carried out together.
type requestGroup struct {
	requests [requestsAtOnce]request
	room     partRoom
	held     []*keyspace.Shard // locked
}

// request is an AcquireAll or a Check that is carried out beside others.
type request struct {
	call     acquireAllCall
	parts    []engine.Op
	answered bool // with an error, before anything is locked
}

// carryOut carries out a request whose shards are locked.
func (r *request) carryOut(s *Store, shards []uint32, now int64, op *engine.Op, res *engine.Result) {
	if r.answered {
		return
	}
	r.call.acquire(s, s.Instant(shards, now, op.Writes()), op, r.parts, res, false)
	if op.Verb == engine.Check {
		r.call.check.Complete(op, res)
	}
}

// applyRequests carries out the requests for several limits at the front of ops, in order, and returns their number. It works as applyGroup
// does for operations on one key, but waits for the locks of the first request if it has to. For a single request it does nothing:
// applySeveral carries it out.
func (s *Store) applyRequests(now int64, ops []engine.Op, results []engine.Result, locked bool) (n int) {
	if locked || len(ops) < 2 || !ops[0].IsRequest() || !ops[1].IsRequest() {
		return 0
	}
	g := requests.Get().(*requestGroup)
	defer requests.Put(g)
	n = g.lock(g.open(s, ops, results))
	if n == 0 {
		r := &g.requests[0]
		shards := s.Lock(r.call.order[:len(r.parts)])
		r.call.sought = false
		r.carryOut(s, shards, now, &ops[0], &results[0])
		s.Unlock(shards)
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
		together[i].carryOut(s, together[i].call.order[:len(together[i].parts)], now, &ops[i], &results[i])
	}
	g.unlock()
	return n
}

// open opens the requests at the front of ops that may be carried out together, and returns their number. If that is 0, it has opened the first.
func (g *requestGroup) open(s *Store, ops []engine.Op, results []engine.Result) (n int) {
	keys := 0
	for ; n < min(len(g.requests), len(ops)) && ops[n].IsRequest(); n++ {
		r := &g.requests[n]
		g.room.give(&r.call, keys)
		if r.answered = !s.open(r, &ops[n], &results[n]); r.answered {
			r.parts = nil
		}
		if keys += len(r.parts); keys > requestKeysAtOnce || !algorithm.AreShort(r.parts) {
			break
		}
	}
	return n
}

// lock locks the shards of the first requests, and returns for how many it could. If that is 0, nothing is locked. It does not wait for a lock
// that another goroutine holds: that could be a deadlock.
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
func (s *Store) open(r *request, op *engine.Op, res *engine.Result) (ok bool) {
	if op.Verb == engine.Check {
		ok = s.openCheck(&r.call, op, res)
		r.parts = r.call.check.Parts
	} else {
		r.parts, ok = openAll(s, &r.call, op, res)
	}
	return ok && r.call.locate(s, r.parts, res)
}
