package decide

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/stintdb/stint/cluster/allowance"
	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group/loans"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

// Config connects a decider with the rest of its group.
type Config struct {
	Store   *store.Store
	Clock   *clock.Clock
	Timeout time.Duration // no batch takes longer to be answered

	Machine      *fsm.Machine               // the state that this node has applied
	IsTooNew     func(ops []engine.Op) bool // reports whether some operations are newer than the cluster's format version
	AwaitsImport func() bool                // reports whether the cluster does not have the state yet that it begins with
	Turns        Turns

	Leads       func() Lease // returns nil on a node that does not lead, or is handing leadership over
	AwaitLead   func() Lease // returns the same once leadership is not on its way any more
	HearsLeader func() bool  // reports whether a follower has heard from the leader lately

	Allowance *allowance.Allowance
	Purse     Purse
	// Queue queues operations of a call for the log, those at the positions in which or all if which is nil. A status
	// other than OK says why it does not.
	Queue   func(c *call.Call, b *engine.Batch, which []uint32) engine.Status
	Refuses func(ops []engine.Op) bool // reports whether there is a script while the log has too much work of scripts
	Forward func(*call.Call) bool      // queues a call for the leader; false if there is no room

	CountFailure func(status engine.Status) // counts the error of an answer; OK is none
}

// Lease is the leadership of this node.
type Lease interface {
	// Holds reports whether no other node can lead now.
	Holds(now clock.Moment) bool
}

// Purse has the tokens that this process holds. It asks for more where they are due.
type Purse interface {
	// MaySpend reports whether tokens may be spent.
	MaySpend(now clock.Moment) bool
	// Spend answers a request for one key. If it does not, held says whether the key is held, or was a moment ago.
	Spend(at clock.Reading, op *engine.Op, res *engine.Result) (done, held bool)
	// SpendAll answers a request for several limits, and fills in res.Parts. Tokens that are not held are taken from
	// others, if that is not nil.
	SpendAll(at clock.Reading, parts []engine.Op, peek bool, res *engine.Result, others loans.Others) (done bool)
	// Refund takes tokens back.
	Refund(at clock.Reading, op *engine.Op, res *engine.Result) (done bool)
	// Wait makes a call wait for tokens of its key. [Decider.Serve] takes it when it no longer waits.
	Wait(mono time.Duration, w *purses.Waiter) (waits bool)
	// Ask asks for tokens of a key that is held.
	Ask(mono time.Duration, op *engine.Op)
	// CountDenial counts a denial by this node's own state.
	CountDenial()
}

// Turns lets the clients of several nodes that wait for a key take from it in the order in which they came. It is asked
// on the leader.
type Turns interface {
	// IsAttempt reports whether an operation is an attempt of a client that waits.
	IsAttempt(op *engine.Op) bool
	// Attempt notes the claim of such an attempt.
	Attempt(now int64, op *engine.Op)
	// MayTake reports whether an operation that would take something may do so: if not, it is an attempt, and another
	// client's turn.
	MayTake(now int64, op *engine.Op) bool
}

// New returns a decider, which answers late calls from [Decider.Start] on.
func New(c Config) *Decider { return &Decider{Config: c, seed: maphash.MakeSeed()} }

// Start begins to answer the calls whose time is over, until ctx is done; ended waits for that.
func (d *Decider) Start(ctx context.Context, ended *sync.WaitGroup) {
	d.underWay.Expire(ctx, ended, d.Timeout, d.Clock.Mono, func(c *call.Call) { d.CountFailure(c.Fail(engine.NoLeader)) })
	d.startVersionless(ctx, ended)
}

// Close answers what is still undecided, after the end of the context of [Decider.Start]. Later calls are refused.
func (d *Decider) Close() {
	for _, c := range d.underWay.Close() {
		d.CountFailure(c.Fail(engine.NoLeader))
	}
	d.closeVersionless()
}

// Oldest is when the first call began that is undecided, on the monotonic clock; false if there is none.
func (d *Decider) Oldest() (began time.Duration, any bool) { return d.underWay.Oldest() }
