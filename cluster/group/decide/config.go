package decide

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/stintdb/stint/cluster/allowance"
	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/forward"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group/loans"
	"github.com/stintdb/stint/cluster/propose"
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
	Holder    *loans.Holder
	Proposer  *propose.Proposer
	Forwarder *forward.Client

	CountFailure func(status engine.Status) // counts the error of an answer; OK is none
}

// Lease is the leadership of this node.
type Lease interface {
	// Holds reports whether no other node can lead now.
	Holds(now clock.Moment) bool
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
