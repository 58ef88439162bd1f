package store

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/limits"
)

// decideClass answers an Acquire of one node alone, which has no assured rate, and a settlement that charges one more.
func decideClass(c *call) (changed bool) {
	s := c.scanClass()
	n, isForced := c.op.Tokens, c.op.Options&engine.Force != 0
	switch {
	case isForced && c.exceedsDebt():
		c.result.Status = engine.DebtTooBig
		return false
	case isForced || n+s.children <= s.free:
		c.result.Allowed, c.result.Granted = true, n
	default:
		c.result.Wait = c.waitClass(s.children)
	}
	if isForced && len(c.op.Who) > 0 && s.assured.Capacity > 0 {
		period := uint64(s.assured.Rate.Period)
		s.isAsked = true
		s.used = uint128.Min(s.used.Plus(uint128.Product(uint64(n), period)), uint128.Product(uint64(s.assured.Capacity), period))
	}
	c.reportClass(s.free-s.children, c.result.Granted)
	return c.result.Granted > 0
}

// exceedsDebt reports whether the call takes more beyond the ceiling than can be kept.
func (c *call) exceedsDebt() bool {
	period, tokens := uint64(c.limit.Rate.Period), uint64(c.limit.Rate.Tokens)
	after := c.class.taken.Plus(uint128.Product(uint64(c.op.Tokens), period))
	return after.Exceeds(uint128.Product(uint64(c.limit.Capacity), period).Plus(uint128.Product(limits.MaxTokens, period))) ||
		after.Exceeds(uint128.Product(uint64(limits.MaxAhead), tokens))
}

func lookClass(c *call) {
	s := c.scanClass()
	c.reportClass(s.free, 0)
}

// fromAssured is the mark of a grant that was taken from the assured rate too.
const fromAssured = 1

func markClass(c *call) int64 {
	if c.class.tookAssured {
		return fromAssured
	}
	return 0
}

func unreserveClass(c *call, mark int64) {
	c.limit = c.prev
	if s := c.scanClass(); mark == fromAssured && s.assured.Capacity > 0 {
		rate := s.assured.Rate
		meterAfter(c.now, s.used.Minus(uint128.Product(uint64(c.op.Tokens), uint64(rate.Period))), rate).store(c.state[24:])
	}
	refundClass(c)
}

// refundClass gives tokens back to this node alone, in place.
func refundClass(c *call) {
	c.limit = c.prev
	s, rate := c.scanClass(), c.prev.Rate
	left := s.taken.Minus(uint128.Product(uint64(c.op.Tokens), uint64(rate.Period)))
	c.result.Granted = s.taken.Minus(left).DivideUp(uint64(rate.Period))
	meterAfter(c.now, left, rate).store(c.state[8:])
	lookClass(c)
}

// reportClass fills in the tokens that remain of those free before a grant.
func (c *call) reportClass(free, granted int64) {
	res, s := c.result, &c.class
	after := s.taken.Plus(uint128.Product(uint64(granted), uint64(c.limit.Rate.Period)))
	res.Limit, res.Remaining = c.limit.Capacity, max(0, free-granted)
	if c.op.Options&engine.Force != 0 || c.op.Verb == engine.Look {
		if debt := after.Minus(uint128.Product(uint64(c.limit.Capacity), uint64(c.limit.Rate.Period))); !debt.IsZero() {
			res.Remaining = -debt.DivideUp(uint64(c.limit.Rate.Period))
		}
	}
	nanos, frac := after.Divide(uint64(c.limit.Rate.Tokens))
	s.after, res.Reset = meter{c.now + int64(nanos), frac}, int64(nanos)
	if frac > 0 {
		res.Reset++
	}
	if s.assured.Capacity > 0 && !s.used.IsZero() {
		res.Reset = max(res.Reset, s.used.DivideUp(uint64(s.assured.Rate.Tokens)))
	}
}

// waitClass is the time until the node has the tokens that the call asks for, and some that it keeps. Where it can never have
// both, it is the time until the first registration ends.
func (c *call) waitClass(kept int64) int64 {
	s, period := &c.class, uint64(c.limit.Rate.Period)
	switch {
	case c.op.Tokens > c.limit.Capacity:
		return engine.NeverWait
	case c.op.Tokens+kept > c.limit.Capacity:
		if s.nextEnd == math.MaxInt64 {
			return engine.NeverWait
		}
		return max(1, s.nextEnd-c.now)
	}
	wanted := s.taken.Plus(uint128.Product(uint64(c.op.Tokens+kept), period))
	return wanted.Minus(uint128.Product(uint64(c.limit.Capacity), period)).DivideUp(uint64(c.limit.Rate.Tokens))
}
