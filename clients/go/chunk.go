package stint

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// lifetime is the time in which a chunk can be spent, counted from its request.
const lifetime = time.Second

// transit is the longest time that a refund is assumed to be in flight.
const transit = time.Second

// clockTolerance bounds the difference in speed of a client's and a server's clock: one part in clockTolerance.
const clockTolerance = 1000

// A chunk is tokens taken from a bucket or a window ahead of time. Times are nanoseconds since a fixed moment.
//
// If tokens stayed in memory while their bucket fills up again, they would exceed its capacity. So a chunk shrinks: at
// a time t it holds at most rate × (fullAt − t), where fullAt is the time at which the bucket will be full again, from
// the reply to the grant. While only time brings tokens back, this keeps
//
//	tokens in the bucket + tokens in all chunks ≤ capacity
//
// at every moment, for any number of processes with chunks. Proof: number the grants in the server's order. Grant i has
// c(i) tokens, and F(i) is the time at which the bucket will be full after it; F(i) ≥ F(i-1) + c(i)/rate if the bucket
// was not full before. Assume that the chunks up to i-1 hold at most rate × (F(i-1) − t) together. Chunk i holds at
// most c(i) and at most rate × (F(i) − t): while t ≤ F(i-1), all together hold at most rate × (F(i-1) − t) + c(i) ≤
// rate × (F(i) − t), and after that only chunk i holds anything. The bucket lacks exactly rate × (F − t) of its
// capacity, which proves it. Because level and chunks together gain tokens only at the rate, at most capacity + rate ×
// s are spent over any span of length s: the same guarantee as without leases.
//
// A refund, the deletion of the key and a higher rate move F back, and chunks granted before keep the old F. Let h be
// the number of tokens that are then outside the bucket: in chunks, or in flight to or from one. From then on the proof
// holds for chunks granted later, so level and chunks exceed the capacity by at most h while those h tokens can be
// spent, which is one lifetime. So the exact limit, with the same refunds, deletions and rates, is exceeded by at most
// the sum of the h of these events. The limiter empties this process's chunks before its own refunds and resets, so
// that h counts only those of other processes.
//
// Refunds of chunks move F back as well. They leave out the tokens that the bucket regains within a transit and a
// lifetime. When chunk i gives r tokens back at a time t, the chunks granted later fit between F(i) and F. So they fit
// into the space that the bucket then lacks, and do so for a lifetime, after which they cannot be spent, because r ≤
// rate × (F(i) − t − lifetime). This holds if no other refund has moved F(i) since; otherwise the refund counts as an
// event as above.
//
// Tokens of a fixed window do not shrink, and are gone when the window ends.
//
// All times are rounded to the safe side. The grant counts from the moment at which the request was sent. Its
// ResetAfter is reduced by a millisecond, because the reply is rounded up, and by a thousandth, because clocks may
// differ in speed by that much. (A cluster's clock may run faster by half of that while it catches up with a new
// leader's.)
type chunk struct {
	left       atomic.Int64
	granted    int64
	fullAt     int64
	expiresAt  int64       // no token can be spent after it
	soundUntil int64       // it does not shrink before
	count      int64       // rate: tokens in each period
	period     int64       // in nanoseconds; 0 for a fixed window
	low        int64       // with fewer left, the next chunk is fetched
	refilling  atomic.Bool // that fetch has been started
}

// newChunk makes a chunk of the tokens granted to a request that was sent at the given time.
func newChunk(limit Limit, sentAt int64, r Result) *chunk {
	c := &chunk{granted: r.Granted, fullAt: sentAt + int64(r.ResetAfter-r.ResetAfter/clockTolerance-time.Millisecond), low: r.Granted / 4}
	c.left.Store(r.Granted)
	c.soundUntil = c.fullAt
	if limit.algorithm == tokenBucket {
		c.count, c.period = limit.count, int64(limit.period)
		c.soundUntil -= ceilMulDiv(r.Granted, c.period, c.count)
	}
	c.expiresAt = sentAt + int64(lifetime)
	c.soundUntil = min(c.soundUntil, c.expiresAt)
	return c
}

// spend takes n tokens if the chunk has as many, and returns the number left.
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

// usable is the number of tokens that could be spent.
func (c *chunk) usable(now int64) int64 {
	if now > c.soundUntil {
		return min(c.left.Load(), c.bound(now))
	}
	return c.left.Load()
}

// empty takes all tokens out and returns the number to give back to the server: without those that time will have
// brought back when the refund arrives, and for a bucket within a lifetime from then. Expired tokens are not given
// back: the bucket may have been reset long ago.
func (c *chunk) empty(now int64) (refund int64) {
	left := c.left.Swap(0)
	arrives := now + int64(transit)
	switch {
	case now > c.expiresAt, arrives > c.fullAt:
		return 0
	case c.period > 0:
		return min(left, c.lacking(arrives+int64(lifetime)))
	}
	return left
}

// bound is the largest number it may hold at a time after soundUntil.
func (c *chunk) bound(now int64) int64 {
	if now > c.expiresAt || c.period == 0 {
		return 0
	}
	return c.lacking(now)
}

// lacking is the number of tokens of this chunk and earlier grants that the bucket has not yet regained.
func (c *chunk) lacking(now int64) int64 {
	span := c.fullAt - now
	if span <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(span), uint64(c.count))
	if high >= uint64(c.period) {
		return math.MaxInt64
	}
	tokens, _ := bits.Div64(high, low, uint64(c.period))
	return int64(min(tokens, math.MaxInt64))
}

// ceilMulDiv is a × b / c, rounded up and at most MaxInt64/2. The numbers must be above zero.
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
