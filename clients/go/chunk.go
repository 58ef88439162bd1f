package stint

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// refundMargin is how long a refund may be on its way. What the bucket would have regained by then is not given back.
const refundMargin = time.Second

// clockTolerance is by what part of it a client's and a server's idea of the same span may differ.
const clockTolerance = 1000

// A chunk is tokens taken from a bucket or a window ahead of time. Times are nanoseconds since some fixed moment.
//
// Tokens that wait in memory while the bucket they came from fills up again would be tokens beyond its capacity. So a
// chunk shrinks: at a time t it holds at most rate × (fullAt − t), where fullAt is when the bucket will be full again as
// the server said with the grant. This keeps
//
//	tokens in the bucket + tokens in all chunks ≤ capacity
//
// at every moment, however many processes hold chunks. For let the grants be numbered as the server made them, each of
// c(i) tokens and with F(i) the time at which the bucket was to be full after it; F(i) ≥ F(i-1) + c(i)/rate, if the
// bucket was not full before. Assume that the chunks up to i-1 hold at most rate × (F(i-1) − t) together. Chunk i holds
// at most c(i) and at most rate × (F(i) − t): while t ≤ F(i-1), all together hold at most rate × (F(i-1) − t) + c(i) ≤
// rate × (F(i) − t), and after that only chunk i holds anything. What the bucket lacks of its capacity is exactly
// rate × (F − t), which proves it. As level and chunks together gain tokens only at the rate, over any span of length s
// at most capacity + rate × s are spent, which is what the server promises without leases.
//
// Tokens of a fixed window do not shrink, and are gone when the window ends.
//
// The times used are those on the safe side: the request's sending for the grant; a millisecond less than the reply says,
// as that is rounded up; and a thousandth less, so that it holds for clocks that differ in speed by as much. (That of a
// cluster may go faster by half of it while it catches up with a new leader's.)
type chunk struct {
	left       atomic.Int64
	granted    int64
	fullAt     int64
	soundUntil int64       // until then it does not shrink
	count      int64       // rate: so many tokens
	period     int64       // in so many nanoseconds; 0 for a fixed window
	low        int64       // fewer left: time to get more,
	refilling  atomic.Bool // which has been seen to
}

// newChunk holds what a reply to a request sent at the given time granted.
func newChunk(limit Limit, sentAt int64, r Result) *chunk {
	c := &chunk{granted: r.Granted, fullAt: sentAt + int64(r.ResetAfter-r.ResetAfter/clockTolerance-time.Millisecond), low: r.Granted / 4}
	c.left.Store(r.Granted)
	c.soundUntil = c.fullAt
	if limit.algorithm == tokenBucket {
		c.count, c.period = limit.count, int64(limit.period)
		c.soundUntil -= ceilMulDiv(r.Granted, c.period, c.count)
	}
	return c
}

// spend takes n tokens if there are as many, and tells how many are left then.
func (c *chunk) spend(now, n int64) (left int64, ok bool) {
	for {
		had := c.left.Load()
		usable := had
		if now > c.soundUntil {
			usable = min(had, c.bound(now))
		}
		if usable < n {
			return usable, false
		}
		if c.left.CompareAndSwap(had, usable-n) {
			return usable - n, true
		}
	}
}

// usable is how many tokens could be spent.
func (c *chunk) usable(now int64) int64 {
	if now > c.soundUntil {
		return min(c.left.Load(), c.bound(now))
	}
	return c.left.Load()
}

// empty takes all tokens out and returns how many of them to give back to the server: those that it would not have
// regained by itself when the refund arrives.
func (c *chunk) empty(now int64) (refund int64) {
	left := c.left.Swap(0)
	if later := now + int64(refundMargin); later > c.soundUntil {
		return min(left, c.bound(later))
	}
	return left
}

// bound is the most it may hold at a time after soundUntil.
func (c *chunk) bound(now int64) int64 {
	span := c.fullAt - now
	if span <= 0 || c.period == 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(span), uint64(c.count))
	if high >= uint64(c.period) {
		return math.MaxInt64
	}
	tokens, _ := bits.Div64(high, low, uint64(c.period))
	return int64(min(tokens, math.MaxInt64))
}

// ceilMulDiv is a × b / c, rounded up, for numbers above zero; at most MaxInt64/2.
func ceilMulDiv(a, b, c int64) int64 {
	const most = math.MaxInt64 / 2
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return most
	}
	quotient, rest := bits.Div64(high, low, uint64(c))
	if rest > 0 {
		quotient++
	}
	return int64(min(quotient, most))
}
