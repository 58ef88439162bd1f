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
	requestsAtOnce    = 4
	requestKeysAtOnce = 16
)

// request is an AcquireAll or a Check that is carried out beside others.
type request struct {
	call     *acquireAllCall
	parts    []engine.Op
	answered bool // with an error, before anything is locked
}

// carryOut carries out a request whose shards are locked.
func (r *request) carryOut(s *Store, now int64, op *engine.Op, res *engine.Result) {
	if r.answered {
		return
	}
	r.call.acquire(s, now, op, r.parts, res, false)
	if op.Verb == engine.Check {
		r.call.closeCheck(op, res)
	}
}

// applyRequests carries out the requests for several limits at the front of ops, in order, and returns their number. It works as applyGroup
// does for operations on one key, but waits for the locks of the first request if it has to. For a single request it does nothing:
// applySeveral carries it out.
func (s *Store) applyRequests(now int64, ops []engine.Op, results []engine.Result, locked bool) (n int) {
	if locked || len(ops) < 2 || !ops[0].IsRequest() || !ops[1].IsRequest() {
		return 0
	}
	var room [requestsAtOnce]request
	held := heldShards{keys: &s.Keyspace}
	taken := 0
	for n < min(requestsAtOnce, len(ops)) && ops[n].IsRequest() {
		r := &room[n]
		r.call = s.groups.Get().(*acquireAllCall)
		taken++
		if r.answered = !s.open(r, &ops[n], &results[n]); r.answered {
			r.parts = nil
		}
		if !areShort(r.parts) || !held.lock(r.call.order[:len(r.parts)]) {
			break
		}
		n++
	}
	if n == 0 {
		held.unlock()
		shards := s.Lock(room[0].call.order[:len(room[0].parts)])
		room[0].carryOut(s, now, &ops[0], &results[0])
		s.Unlock(shards)
		s.groups.Put(room[0].call)
		return 1
	}
	for i := range room[:n] {
		room[i].call.touchSlots(len(room[i].parts))
	}
	for i := range room[:n] {
		room[i].call.touchRecords(len(room[i].parts))
		room[i].call.sought = true
	}
	for i := range room[:n] {
		room[i].carryOut(s, now, &ops[i], &results[i])
	}
	held.unlock()
	for i := range room[:taken] {
		room[i].call.sought = false
		s.groups.Put(room[i].call)
	}
	return n
}

// areShort reports whether all parts take little time, whatever their keys hold: the shards of all requests are locked meanwhile.
func areShort(parts []engine.Op) bool {
	for i := range parts {
		if !algorithm.IsShort(&parts[i]) {
			return false
		}
	}
	return true
}

// open finds out which limits a request asks, and where their keys are. It returns false when res has an error instead.
func (s *Store) open(r *request, op *engine.Op, res *engine.Result) (ok bool) {
	if op.Verb == engine.Check {
		r.parts, ok = s.openCheck(r.call, op, res)
	} else {
		r.parts, ok = openAll(s, r.call, op, res)
	}
	return ok && r.call.locate(s, r.parts, res)
}

// heldShards are locked shards.
type heldShards struct {
	keys    *keyspace.Keyspace
	numbers [requestKeysAtOnce]uint32
	count   int // of numbers in use
}

// lock locks more shards, some of which may be held. It returns false when another goroutine holds one: waiting for it could be a deadlock.
func (h *heldShards) lock(more []uint32) (ok bool) {
	if h.count+len(more) > len(h.numbers) {
		return false
	}
	for _, n := range more {
		if slices.Contains(h.numbers[:h.count], n) {
			continue
		}
		if !h.keys.ShardAt(n).TryLock() {
			return false
		}
		h.numbers[h.count] = n
		h.count++
	}
	return true
}

func (h *heldShards) unlock() {
	for _, n := range h.numbers[:h.count] {
		h.keys.ShardAt(n).Unlock()
	}
}
