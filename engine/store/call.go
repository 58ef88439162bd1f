package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/limits"
)

// call is one limit asked at one instant: the input and output of an algorithm. decide only reads the state. It leaves
// the new state in next, or the store gets it by need and write. So an algorithm knows nothing of PEEK or of
// the other limits in the same request.
type call struct {
	now    int64
	op     *engine.Op
	limit  limits.Limit   // the limit in the operation
	prev   limits.Limit   // the limit that the state was last written under; limit itself without a state
	state  []byte         // as stored; zero when the key has expired
	isNew  bool           // there is no state
	next   [maxState]byte // the state to keep, of an algorithm whose state has a fixed size
	result *engine.Result

	leases  leaseScan // of the leases in state, once scanned
	shares  shareScan // of the pool in state, once scanned
	class   classScan // of the node in state, once its algorithm has read it
	scanned bool
	places  []uint16 // of members, while a pool is scanned; kept for reuse
	listed  int      // bytes of leases, members and grants listed since the batch began

	prior [maxState]byte // the state that stands for Op.PriorAt
	share engine.Op      // the question to the leader's share

	content []byte // of a reservation: its new state, without the size

	lent     int64  // tokens set aside for holders; the limiter cannot grant them
	loans    *loans // the limiter's loans, while hasLoans
	hasLoans bool
	inner    [maxLentState]byte // of a limiter with loans: its state without them
	raw      []byte             // room for the state of a limiter with loans
	ending   []loanEnd          // of its loans, while a wait is found

	loading []byte // the whole state, of an entry that is loaded

	touched uint64 // of memory that was read in advance
}

// maxState is the largest state of fixed size.
const maxState = adaptiveBytes

// noState is the state of an expired key. It is never written.
var noState [maxState]byte

// begin fills c for an operation on a key without a state.
func (c *call) begin(now int64, op *engine.Op, res *engine.Result) {
	c.now, c.op, c.result, c.limit, c.scanned = now, op, res, op.Limit, false
	c.prev, c.state, c.isNew = op.Limit, noState[:], true
	c.lent, c.hasLoans = 0, false
}

// open fills c from the whole state of a limiter, unless it has expired.
func (c *call) open(limit *limits.Limit, state []byte) {
	alg := &algorithms[limit.Algorithm]
	switch {
	case alg.hasLoans:
		c.openLent(limit, state)
	case !alg.expired(state, limit, c.now):
		c.prev, c.state, c.isNew = *limit, state, false
	}
}

// ask lets the algorithm decide an Acquire. It reports whether the decision changes the state.
func (c *call) ask() (changed bool) {
	if !c.isNew && c.prev.Algorithm != c.limit.Algorithm {
		c.wrongType(c.limit.Algorithm)
		return false
	}
	return algorithms[c.limit.Algorithm].decide(c)
}

func (c *call) wrongType(wanted limits.Algorithm) {
	c.result.Status, c.result.Held, c.result.Wanted = engine.WrongType, c.prev, wanted
}

// size is the bytes of the state that keeps what c decided.
func (c *call) size() int {
	alg := &algorithms[c.limit.Algorithm]
	if alg.bytes != 0 {
		return alg.bytes
	}
	return alg.need(c)
}

// classScan is a node as a request finds it, and as it leaves it once the request is decided.
type classScan struct {
	taken    uint128.Int // ticks of its ceiling
	after    meter       // of its ceiling once the request is decided
	free     int64       // whole tokens left of it
	own      int64       // the capacity assured to itself, if it is registered
	children int64       // the sum of those of its registered children, the one that asks included

	isAsked bool         // it is the class that asks, not an ancestor
	assured limits.Limit // its assured rate; Capacity 0 for none
	used    uint128.Int
	// tookAssured reports whether a grant was taken from the assured rate.
	tookAssured bool
	end         int64 // of its registration as a class

	hash     classHash // of its key
	child    classHash // of the key of the child that asks, if any
	hasChild bool
	capacity int64 // of that child
	childEnd int64
	isNews   bool // that child was not registered, or with a smaller capacity
	isFull   bool // there is no room for it
	isSwept  bool // some registrations are over
	alive    int  // registered children, the one that asks left out
	nextEnd  int64

	changes bool // the registration, or the assured rate
}

// classHash is the first half of the SHA-256 of a key. A node keeps that of its key, so that it is computed once.
type classHash [16]byte

// leaseScan summarises the leases that have not ended.
type leaseScan struct {
	count    int64
	bytes    int   // of these leases
	earliest int64 // end of the first to end
	last     int64 // end of the last to end
	others   int64 // end of the last to end, the lease of the holder asked for aside
	found    bool  // the holder asked for is among them
	at       int   // where, in the state
	ended    bool  // there are leases beside these that have ended
}

// shareScan is a pool brought up to the time of a call, under the limit of the call.
type shareScan struct {
	taken     uint128.Int // ticks
	virtual   uint64
	restTicks uint64
	restUnits uint32
	weights   uint32
	drained   int // members that have got everything back, the first in order
	active    int // the others
	room      int // of the state
	nameRoom  int

	member int    // the number of the entry of the member asked for, if it is active
	found  bool   // it is active
	weight uint32 // its weight in the state
	units  uint64 // that it has taken
}

// loanEnd is the end of a loan, at which its tokens are charged.
type loanEnd struct{ at, tokens int64 }

// report answers a part that asks nothing with the state of its limit.
func (c *call) report() {
	if !c.isNew && c.prev.Algorithm != c.limit.Algorithm {
		c.wrongType(c.limit.Algorithm)
		return
	}
	algorithms[c.limit.Algorithm].look(c)
	c.result.Allowed = true
}

// refuse answers that there is no room.
func (c *call) refuse() {
	c.result.Clear()
	c.result.Status = engine.OutOfRoom
}

// startFrom begins a limiter with tokens that were taken at a time before.
func (c *call) startFrom(tokens, at int64) {
	charge := algorithms[c.limit.Algorithm].charge
	if charge == nil || tokens <= 0 {
		return
	}
	c.prior = [maxState]byte{}
	charge(c.prior[:], &c.limit, min(at, c.now), tokens)
	if !algorithms[c.limit.Algorithm].expired(c.prior[:], &c.limit, c.now) {
		c.state = c.prior[:]
	}
}

// priorAt is the time at which the leader's share counts as taken. A window counts from now on, for as long as one of an earlier
// leader may last: its beginning is not known, and windows must not overlap.
func (c *call) priorAt() int64 {
	if at := c.op.PriorAt; c.limit.Algorithm != limits.FixedWindow || c.now-at >= c.limit.Rate.Period {
		return at
	}
	return c.now
}

// mark is that of the window of a grant, 0 for a limit that granted nothing: it has no new state.
func (c *call) mark() int64 {
	if alg := &algorithms[c.limit.Algorithm]; alg.mark != nil && c.result.Granted > 0 {
		return alg.mark(c)
	}
	return 0
}
