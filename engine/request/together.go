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
	keys     int               // of the requests, in the room
	opened   int               // requests that were opened, also if they are carried out alone
	held     []*keyspace.Shard // locked
}

// The most requests that are looked up together, and the most keys that they look up at the same time, ids included. More
// would hold more locks, and gain little.
const (
	requestsAtOnce    = 16
	requestKeysAtOnce = 16
	keysTogether      = 2 * requestKeysAtOnce // with the limits of reservations, which are looked up after the ids
)

// longState is the size of a state, in bytes, from which it may take long to decide: meanwhile the locks of other requests
// are not to be held.
const longState = 4 << 10

// request is one that is carried out beside others.
type request struct {
	call     group
	parts    []engine.Op // the limits that it asks, unless a reservation has them
	shards   []uint32    // of its keys
	hasID    bool
	answered bool // with an error, before anything is locked
}

// ApplyTogether carries out the requests for several limits at the front of ops, in order, and returns their number. It
// works as [keyspace.Keyspace.ApplyGroup] does for operations on one key. For a single request, or one that has to wait
// for a lock, it does nothing: [Runner.Apply] carries it out.
func (r *Runner) ApplyTogether(now int64, ops []engine.Op, results []engine.Result, locked bool) (n int) {
	if locked || len(ops) < 2 || !isRequest(&ops[0]) || !isRequest(&ops[1]) {
		return 0
	}
	g := togethers.Get().(*requestGroup)
	defer togethers.Put(g)
	n = g.lookUp(r, ops, results)
	for i := range n {
		g.requests[i].carryOut(r, now, &ops[i], &results[i])
	}
	g.unlock()
	return n
}

func isRequest(op *engine.Op) bool { return op.IsRequest() || isReservation(op) }

func isReservation(op *engine.Op) bool {
	return op.Verb == engine.Reserve || isSettlement(op)
}

// isSettlement reports whether the limits that an operation asks are those of a reservation.
func isSettlement(op *engine.Op) bool { return op.Verb == engine.Extend || op.Verb == engine.Settle }

// LookAhead reads what the requests among ops will look up, for callers that will look it up one after the other.
func (r *Runner) LookAhead(ops []engine.Op) {
	g := togethers.Get().(*requestGroup)
	defer togethers.Put(g)
	var results [requestsAtOnce]engine.Result
	for ; len(ops) > 0; ops = ops[max(1, g.opened):] {
		g.lookUp(r, ops, results[:])
		g.unlock()
	}
}

// lookUp locks the shards of the requests at the front of ops that may be carried out together, and returns their number.
// It reads the slots and records of their keys side by side, so that the processor fetches them from memory at the same
// time.
func (g *requestGroup) lookUp(r *Runner, ops []engine.Op, results []engine.Result) (n int) {
	g.opened = g.open(r, ops, results)
	n = g.lock(g.opened)
	together := g.requests[:n]
	for i := range together {
		q := &together[i]
		if q.hasID {
			g.room.ahead.Saw(q.call.id.shard.Touch(q.call.id.tag))
		}
		q.call.touchSlots(len(q.parts))
	}
	reserved := false
	for i := range together {
		q := &together[i]
		if q.hasID {
			g.room.ahead.AddLong(q.call.id.seek())
			if isSettlement(&ops[i]) {
				reserved = true
			} else {
				g.room.ahead.AddLong(keyspace.RoomOf(q.call.id.shard))
			}
		}
		q.call.seekRecords(len(q.parts))
	}
	g.room.ahead.Read()
	if reserved {
		n = g.lookUpReserved(r, ops[:n])
	}
	for i := range n {
		if q := &g.requests[i]; (q.hasID || q.call.varies) && q.isApart(&ops[i]) {
			return i
		}
	}
	return n
}

// open opens the requests at the front of ops that may be carried out together, and returns their number. Two with the
// same id may not: the first makes what the second finds.
func (g *requestGroup) open(r *Runner, ops []engine.Op, results []engine.Result) (n int) {
	g.keys = 0
	for ; n < min(len(g.requests), len(ops)) && isRequest(&ops[n]); n++ {
		q := &g.requests[n]
		g.room.give(&q.call, g.keys)
		if !r.open(q, &ops[n], &results[n]) || q.hasID && g.hasID(n) || g.keys+len(q.shards) > requestKeysAtOnce {
			break
		}
		g.keys += len(q.shards)
	}
	return n
}

// hasID reports whether request n, which has an id, may have that of one before.
func (g *requestGroup) hasID(n int) bool {
	q := &g.requests[n]
	for i := range n {
		if o := &g.requests[i]; o.hasID && o.call.id.tag == q.call.id.tag {
			return true
		}
	}
	return false
}

// open finds out which limits a request asks, and where its keys are. It returns false if the request is to be carried
// out alone.
func (r *Runner) open(q *request, op *engine.Op, res *engine.Result) (ok bool) {
	g := &q.call
	q.parts, q.shards, q.hasID, q.answered, g.isLocated, g.reserving = nil, nil, !op.IsRequest(), false, true, nil
	switch {
	case isSettlement(op):
		g.id.locate(r, op.Key)
		return g.id.shard.TouchHead()
	case op.Verb == engine.Reserve:
		g.reserving, g.check.Shadow = op, false
	}
	if q.parts, ok = r.openLimits(g, op, res); ok {
		q.shards, ok = g.locate(r, q.parts, res)
	} else if op.Verb == engine.Reserve {
		return false // the reservation may be known, and its policy have changed
	}
	if q.answered = !ok; q.answered {
		q.parts = nil
	}
	return true
}

// lock locks the shards of the first requests, and returns for how many it could. It does not wait for a lock that another
// goroutine holds: that could be a deadlock.
func (g *requestGroup) lock(most int) (n int) {
	g.held = g.held[:0]
	for ; n < most; n++ {
		q := &g.requests[n]
		if q.hasID && !g.hold(q.call.id.shard) || !g.holdLimits(q) {
			return n
		}
	}
	return n
}

// holdLimits locks the shards of the limits of a request.
func (g *requestGroup) holdLimits(q *request) bool {
	for i := range q.parts {
		if !g.hold(q.call.targets[i].shard) {
			return false
		}
	}
	return true
}

// hold locks a shard, unless the group holds it. It returns false if another goroutine does.
func (g *requestGroup) hold(sh *keyspace.Shard) bool {
	if sh.TryLock() {
		g.held = append(g.held, sh)
		return true
	}
	return slices.Contains(g.held, sh)
}

func (g *requestGroup) unlock() {
	for _, sh := range g.held {
		sh.Unlock()
	}
}

// lookUpReserved is lookUp for the limits of the reservations that ops extend or settle.
func (g *requestGroup) lookUpReserved(r *Runner, ops []engine.Op) (n int) {
	for ; n < len(ops); n++ {
		if q := &g.requests[n]; isSettlement(&ops[n]) {
			g.room.give(&q.call, g.keys)
			q.shards = findLimits(&q.call, r, ops[n].Key, append(q.call.order[:0], q.call.id.shard.Number))
			q.parts = q.call.parts[:len(q.shards)-1]
			if g.keys += len(q.shards); g.keys > keysTogether || !q.call.touchHeads(len(q.parts)) {
				break
			}
		}
	}
	together := g.requests[:n]
	for i := range together {
		if isSettlement(&ops[i]) && !g.holdLimits(&together[i]) {
			n, together = i, together[:i]
			break
		}
	}
	for i := range together {
		together[i].call.touchSlots(len(together[i].parts))
	}
	for i := range together {
		together[i].call.seekRecords(len(together[i].parts))
	}
	g.room.ahead.Read()
	return n
}

// isApart reports whether a request is to be carried out alone: it may take long, or it is a check whose id is known,
// which is answered from the reservation, because the policy may have changed.
func (q *request) isApart(op *engine.Op) bool {
	if op.Verb == engine.Reserve && op.Parts[0].Verb == engine.Check {
		if q.call.id.find(op.Key); foundReservation(&q.call) != nil {
			return true
		}
	}
	for i := range q.parts {
		if p, t := &q.parts[i], &q.call.targets[i]; algorithm.Table[p.Limit.Algorithm].Bytes == 0 {
			if t.find(p.Key); t.place.Found && t.shard.SizeAt(t.place) > longState {
				return true
			}
		}
	}
	return false
}

// carryOut carries out a request whose shards are locked.
func (q *request) carryOut(r *Runner, now int64, op *engine.Op, res *engine.Result) {
	g, whole := &q.call, op.Request()
	if q.answered {
		return
	}
	now = r.keys.Instant(q.shards, now, whole.Writes())
	switch op.Verb {
	case engine.Settle:
		r.settle(g, now, op, res, true, false)
	case engine.Extend:
		r.extend(g, now, op, res, true, false)
	case engine.Reserve:
		g.fingerprint = g.fingerprintOf(op)
		fallthrough
	default:
		g.acquire(r, now, whole, q.parts, res, false)
		complete(g, op, res)
	}
}
