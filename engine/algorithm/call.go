package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// Call is one limit asked at one instant: the input and output of an algorithm. decide only reads the state. It leaves
// the new state in next, or the store gets it by need and write. So an algorithm knows nothing of PEEK or of
// the other limits in the same request.
type Call struct {
	Now    int64
	Op     *engine.Op
	Limit  limits.Limit   // the limit in the operation
	Prev   limits.Limit   // the limit that the state was last written under; limit itself without a state
	State  []byte         // as stored; zero when the key has expired
	IsNew  bool           // there is no state
	Next   [MaxState]byte // the state to keep, of an algorithm whose state has a fixed size
	Result *engine.Result

	leases  leaseScan // of the leases in state, once scanned
	shares  shareScan // of the pool in state, once scanned
	Class   classScan // of the node in state, once its algorithm has read it
	Scanned bool
	Counted bool     // a penalty has counted a denial
	places  []uint16 // of members, while a pool is scanned; kept for reuse
	Listed  int      // bytes of leases, members and grants listed since the batch began

	prior     [MaxState]byte // the state that stands for Op.PriorAt
	Allowance engine.Op      // the question to the leader's allowance

	Content []byte // of a reservation: its new state, without the size

	Lent     int64                     // tokens set aside for holders; the limiter cannot grant them
	Wrapped  bool                      // the state lies in another, beside loans and closed windows
	Around   limits.Algorithm          // of the state around a wrapped one, NoAlgorithm if there is none so far
	Loans    *layout.Loans             // of a wrapped state
	History  layout.History            // of a wrapped state
	Inner    [layout.MaxLentState]byte // a wrapped state
	Reserved int64                     // tokens that a reservation takes from a limit with a History, or, when it is settled, took
	raw      []byte                    // room for the state around a wrapped one
	closed   []byte                    // room for the History
	ending   []loanEnd                 // of its loans, while a wait is found

	Loading []byte // the whole state, of an entry that is loaded

	Touched uint64 // of memory that was read in advance
}

// MaxState is the largest state of fixed size.
const MaxState = adaptiveBytes

// NoState is the state of an expired key. It is never written.
var NoState [MaxState]byte

// Begin fills c for an operation on a key without a state.
func (c *Call) Begin(now int64, op *engine.Op, res *engine.Result) {
	c.Now, c.Op, c.Result, c.Limit, c.Scanned, c.Counted = now, op, res, op.Limit, false, false
	c.Prev, c.State, c.IsNew = op.Limit, NoState[:], true
	c.Lent, c.Wrapped = 0, false
}

// Open fills c from the whole state of a limiter, unless it has expired.
func (c *Call) Open(limit *limits.Limit, state []byte) {
	alg := &Table[limit.Algorithm]
	switch {
	case alg.Wraps:
		c.unwrap(limit, state)
	case !alg.Expired(state, limit, c.Now):
		c.Prev, c.State, c.IsNew = *limit, state, false
	}
}

// Ask lets the algorithm decide an Acquire. It reports whether the decision changes the state.
func (c *Call) Ask() (changed bool) {
	if !c.IsNew && c.Prev.Algorithm != c.Limit.Algorithm {
		c.WrongType(c.Limit.Algorithm)
		return false
	}
	return Table[c.Limit.Algorithm].Decide(c)
}

// WrongType answers that the key belongs to another algorithm than the wanted one.
func (c *Call) WrongType(wanted limits.Algorithm) {
	c.Result.Status, c.Result.Held, c.Result.Wanted = engine.WrongType, c.Prev, wanted
}

// Size is the bytes of the state that keeps what c decided.
func (c *Call) Size() int {
	alg := &Table[c.Limit.Algorithm]
	if alg.Bytes != 0 {
		return alg.Bytes
	}
	return alg.Need(c)
}

// classScan is a node as a request finds it, and as it leaves it once the request is decided.
type classScan struct {
	taken    uint128.Int  // ticks of its ceiling
	after    layout.Meter // of its ceiling once the request is decided
	Free     int64        // whole tokens left of it
	Own      int64        // the capacity assured to itself, if it is registered
	Children int64        // the sum of the capacities of its registered children, the one that asks included

	isAsked bool         // it is the class that asks, not an ancestor
	Assured limits.Limit // its assured rate; Capacity 0 for none
	Used    uint128.Int
	// TookAssured reports whether a grant was taken from the assured rate.
	TookAssured bool
	end         int64 // of its registration as a class

	hash     classHash // of its key
	child    classHash // of the key of the child that asks, if any
	hasChild bool
	capacity int64 // of that child
	childEnd int64
	IsNews   bool // that child was not registered, or with a smaller capacity
	IsFull   bool // there is no room for it
	isSwept  bool // some registrations are over
	alive    int  // registered children, the one that asks left out
	nextEnd  int64

	Changes bool // the registration, or the assured rate
}

// classHash is the first half of the SHA-256 of a key. A node keeps the hash of its key, so that it is computed once.
type classHash [16]byte

// leaseScan summarises the leases that have not ended.
type leaseScan struct {
	count    int64
	bytes    int   // of these leases
	earliest int64 // end of the first to end
	last     int64 // end of the last to end
	others   int64 // end of the last to end, the lease of the holder asked for aside
	Found    bool  // the holder asked for is among them
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

// Report answers a part that asks nothing with the state of its limit.
func (c *Call) Report() {
	if !c.IsNew && c.Prev.Algorithm != c.Limit.Algorithm {
		c.WrongType(c.Limit.Algorithm)
		return
	}
	Table[c.Limit.Algorithm].Look(c)
	c.Result.Allowed = true
}

// Refuse answers that there is no room.
func (c *Call) Refuse() {
	c.Result.Clear()
	c.Result.Status = engine.OutOfRoom
}

// StartFrom begins a limiter with tokens that were taken at a time before.
func (c *Call) StartFrom(tokens, at int64) {
	charge := Table[c.Limit.Algorithm].Charge
	if charge == nil || tokens <= 0 {
		return
	}
	c.prior = [MaxState]byte{}
	charge(c.prior[:], &c.Limit, min(at, c.Now), tokens)
	if !Table[c.Limit.Algorithm].Expired(c.prior[:], &c.Limit, c.Now) {
		c.State = c.prior[:]
	}
}

// PriorAt is the time at which the leader's allowance counts as taken. A window counts from now on, for as long as one
// of an earlier leader may last: its beginning is not known, and windows must not overlap.
func (c *Call) PriorAt() int64 {
	if at := c.Op.PriorAt; c.Limit.Algorithm != limits.FixedWindow || c.Now-at >= c.Limit.Rate.Period {
		return at
	}
	return c.Now
}

// Mark is the mark of the window of a grant, 0 for a limit that granted nothing: it has no new state.
func (c *Call) Mark() int64 {
	if alg := &Table[c.Limit.Algorithm]; alg.Mark != nil && c.Result.Granted > 0 {
		return alg.Mark(c)
	}
	return 0
}

// HasMark reports whether the algorithm has marks.
func (c *Call) HasMark() bool { return Table[c.Limit.Algorithm].Mark != nil }

// grantable is the tokens of the capacity that the call may take, 0 or less if it keeps all of it back.
func (c *Call) grantable() int64 {
	if c.Op.Keep == 0 {
		return c.Limit.Capacity - c.Lent
	}
	return c.Limit.Capacity - c.Lent - c.Op.Keep.Of(c.Limit.Capacity)
}
