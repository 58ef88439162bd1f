// Package purses has the purses of this process: tokens that the cluster's log has set aside for it, from which it
// grants requests by itself. The package knows nothing of logs and nodes: [Table.Spend] takes tokens, [Table.Next] says
// which operations on loans are due, and [Table.Hear] takes their outcomes.
package purses

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// Times and bounds.
const (
	silentAfter   = 250 * time.Millisecond // the tokens of a key without requests are given back
	forgetAfter   = 10 * time.Second       // such a key is forgotten
	pauseAfterNo  = 50 * time.Millisecond  // after a Lend that brought nothing
	pauseAfterErr = 100 * time.Millisecond // before an operation with an unknown outcome is sent again
	settleFor     = time.Second            // the time for which a key is not lent after its limit has changed
	lendsApart    = 3 * time.Millisecond   // between Lends of a key with too few tokens: so more requests wait for each
	measureEvery  = 10 * time.Millisecond  // demand is measured over at least this time

	leastWant = 2 // tokens of a Lend
)

// keyPurse is the purse of one key.
//
// The log counts at least ceiling tokens as set aside, whether the operation under way was carried out or not. So a
// spent token may come back as long as the purse has fewer than ceiling.
type keyPurse struct {
	purse.Purse // of at most ceiling tokens; UsedAt is the time of the last request, granted here or not

	key     string
	limit   limits.Limit
	ceiling int64
	target  int64 // tokens after the last Lend

	// The prepared operation is repeated until its outcome is known.
	want    int64
	sending bool          // somebody waits for the answer
	begun   time.Duration // when requests began to wait for it

	waiters  []*Waiter // in order; the first joined of them wait for the operation under way, the others for the next one
	joined   int
	requests int64 // of those that wait for the next one

	others      int64 // tokens that the limit had left for others after the last operation
	resetAt     int64 // when a window ends, by the cluster's time
	pausedUntil time.Duration
	nextLend    time.Duration // not before
	demand      purse.Demand
}

// answer fills in the result of a grant, or of a look at the tokens.
func (p *keyPurse) answer(now int64, granted int64, res *engine.Result) {
	res.Clear()
	res.Status, res.Allowed, res.Granted = engine.OK, true, granted
	res.Limit = p.limit.Capacity
	res.Remaining = min(p.Tokens+p.others, p.limit.Capacity)
	if p.limit.Rate.Tokens > 0 {
		res.Reset = p.limit.Rate.Refill(p.limit.Capacity - res.Remaining)
	} else if res.Remaining < p.limit.Capacity {
		res.Reset = max(0, p.resetAt-now)
	}
}

// use notes a request for tokens, granted here or not.
func (p *keyPurse) use(now time.Duration, tokens int64) {
	p.UsedAt = int64(now)
	p.demand.Ask(tokens)
}

// deposit ends the operation under way.
func (p *keyPurse) deposit(brought int64, drops bool, named uint64) {
	kept := p.Deposit(brought, drops, named)
	if p.ceiling += kept; drops {
		p.ceiling = kept
	}
}

// isLow reports whether a quarter of the tokens is spent, so that a Lend is due. The others have to last while the
// leader is replaced.
func (p *keyPurse) isLow() bool { return p.Tokens <= p.target-(p.target+3)/4 }

// drop forgets the tokens, which the log counts as spent now or when the loan is voided.
func (p *keyPurse) drop() { p.Tokens, p.ceiling = 0, 0 }
