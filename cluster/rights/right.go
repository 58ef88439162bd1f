// Package rights keeps the tokens that this process holds: they were set aside for it in the cluster's log, and it grants requests
// from them alone. The package knows nothing of logs and nodes: [Table.Spend] takes tokens, [Table.Next] says which operations on
// loans are due, and [Table.Hear] takes their outcomes.
package rights

import (
	"math/bits"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Times and bounds.
const (
	silentAfter   = 250 * time.Millisecond // a key without requests is given back
	forgetAfter   = 10 * time.Second       // and then forgotten
	pauseAfterNo  = 50 * time.Millisecond  // after a Lend that brought nothing
	pauseAfterErr = 100 * time.Millisecond // before an operation with an unknown outcome is sent again
	settleFor     = time.Second            // the time for which a key is not lent after its limit has changed
	lendsApart    = 3 * time.Millisecond   // between Lends of a key of which too little is left: so more requests wait for each
	measureEvery  = 10 * time.Millisecond  // demand is measured over such a time, at least

	leastWant = 2 // tokens of a Lend
)

// right is the tokens of one key.
//
// The log counts at least ceiling tokens as set aside, whether the operation under way has been carried out or not: so a token
// that was spent may come back while there are fewer than these.
type right struct {
	key     string
	limit   limits.Limit
	tokens  int64 // not spent, at most ceiling
	ceiling int64
	target  int64  // tokens after the last Lend
	known   uint64 // the number of the last operation that was carried out, 0 if there is no loan

	// The operation under way, if number is not 0. It is repeated until its outcome is known.
	number    uint64
	want      int64
	left      int64
	returning bool
	sending   bool          // somebody waits for the answer
	begun     time.Duration // when requests began to wait for it

	waiters  []*Waiter // in their order; the first joined wait for the operation under way, the others for the next one
	joined   int
	requests int64 // of the others

	others               int64 // tokens that others found after the last operation
	resetAt              int64 // in a window: when it ends, by the cluster's time
	pausedUntil, lastUse time.Duration
	nextLend             time.Duration // not before

	asked    int64 // tokens asked for since the last measurement
	measured time.Duration
	demand   float64 // tokens per nanosecond
}

// answer fills in a grant, or a look at the tokens.
func (r *right) answer(now int64, granted int64, res *engine.Result) {
	res.Clear()
	res.Status, res.Allowed, res.Granted = engine.OK, true, granted
	res.Limit = r.limit.Capacity
	res.Remaining = min(r.tokens+r.others, r.limit.Capacity)
	if r.limit.Rate.Tokens > 0 {
		res.Reset = refill(r.limit.Capacity-res.Remaining, r.limit.Rate)
	} else if res.Remaining < r.limit.Capacity {
		res.Reset = max(0, r.resetAt-now)
	}
}

// refill is the time in which tokens refill, rounded up.
func refill(tokens int64, rate limits.Rate) int64 {
	hi, lo := bits.Mul64(uint64(tokens), uint64(rate.Period))
	by := uint64(rate.Tokens)
	if hi >= by {
		return int64(^uint64(0) >> 1)
	}
	n, rest := bits.Div64(hi, lo, by)
	if rest > 0 {
		n++
	}
	return int64(min(n, ^uint64(0)>>1))
}

// use notes a request for tokens, granted here or not.
func (r *right) use(now time.Duration, tokens int64) {
	r.lastUse = now
	r.asked += tokens
}

// measure estimates the demand. It follows a rise at once and a fall slowly.
func (r *right) measure(now time.Duration) {
	span := now - r.measured
	if span < measureEvery {
		return
	}
	sample := float64(r.asked) / float64(span)
	if sample < r.demand {
		sample = (3*r.demand + sample) / 4
	}
	r.demand, r.asked, r.measured = sample, 0, now
}

// isLow reports that a quarter of the tokens is spent, so a Lend is due. The others have to last while the leader is replaced.
func (r *right) isLow() bool { return r.tokens <= r.target-(r.target+3)/4 }

// drop forgets the tokens: the log counts them as spent, now or when the loan is voided.
func (r *right) drop() { r.tokens, r.ceiling = 0, 0 }
