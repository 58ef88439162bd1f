package algorithm

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// decideClass answers an Acquire of one node alone, which has no assured rate, and a settlement that charges one more.
func decideClass(c *Call) (changed bool) {
	s := c.ScanClass()
	n, isForced := c.Op.Tokens, c.Op.Options&engine.Force != 0
	switch {
	case isForced && exceedsDebt(c):
		c.Result.Status = engine.DebtTooBig
		return false
	case isForced || n+s.Children <= s.Free:
		c.Result.Allowed, c.Result.Granted = true, n
	default:
		c.Result.Wait = c.WaitClass(s.Children)
	}
	if isForced && len(c.Op.Who) > 0 && s.Assured.Capacity > 0 {
		period := uint64(s.Assured.Rate.Period)
		s.isAsked = true
		s.Used = uint128.Min(s.Used.Plus(uint128.Product(uint64(n), period)), uint128.Product(uint64(s.Assured.Capacity), period))
	}
	c.ReportClass(s.Free-s.Children, c.Result.Granted)
	return c.Result.Granted > 0
}

// exceedsDebt reports whether the call takes more beyond the ceiling than can be kept.
func exceedsDebt(c *Call) bool {
	period, tokens := uint64(c.Limit.Rate.Period), uint64(c.Limit.Rate.Tokens)
	after := c.Class.taken.Plus(uint128.Product(uint64(c.Op.Tokens), period))
	return after.Exceeds(uint128.Product(uint64(c.Limit.Capacity), period).Plus(uint128.Product(limits.MaxTokens, period))) ||
		after.Exceeds(uint128.Product(uint64(limits.MaxAhead), tokens))
}

func lookClass(c *Call) {
	s := c.ScanClass()
	c.ReportClass(s.Free, 0)
}

// fromAssured is the mark of a grant that was taken from the assured rate too.
const fromAssured = 1

func markClass(c *Call) int64 {
	if c.Class.TookAssured {
		return fromAssured
	}
	return 0
}

func unreserveClass(c *Call, mark int64) {
	c.Limit = c.Prev
	if s := c.ScanClass(); mark == fromAssured && s.Assured.Capacity > 0 {
		rate := s.Assured.Rate
		layout.MeterAfter(c.Now, s.Used.Minus(uint128.Product(uint64(c.Op.Tokens), uint64(rate.Period))), rate).Store(c.State[24:])
	}
	refundClass(c)
}

// refundClass gives tokens back to this node alone, in place.
func refundClass(c *Call) {
	c.Limit = c.Prev
	s, rate := c.ScanClass(), c.Prev.Rate
	left := s.taken.Minus(uint128.Product(uint64(c.Op.Tokens), uint64(rate.Period)))
	c.Result.Granted = s.taken.Minus(left).DivideUp(uint64(rate.Period))
	layout.MeterAfter(c.Now, left, rate).Store(c.State[8:])
	lookClass(c)
}

// ReportClass fills in the tokens that remain of those free before a grant.
func (c *Call) ReportClass(free, granted int64) {
	res, s := c.Result, &c.Class
	after := s.taken.Plus(uint128.Product(uint64(granted), uint64(c.Limit.Rate.Period)))
	res.Limit, res.Remaining = c.Limit.Capacity, max(0, free-granted)
	if c.Op.Options&engine.Force != 0 || c.Op.Verb == engine.Look {
		if debt := after.Minus(uint128.Product(uint64(c.Limit.Capacity), uint64(c.Limit.Rate.Period))); !debt.IsZero() {
			res.Remaining = -debt.DivideUp(uint64(c.Limit.Rate.Period))
		}
	}
	s.after, res.Reset = layout.MeterAfter(c.Now, after, c.Limit.Rate), after.DivideUp(uint64(c.Limit.Rate.Tokens))
	if s.Assured.Capacity > 0 && !s.Used.IsZero() {
		res.Reset = max(res.Reset, s.Used.DivideUp(uint64(s.Assured.Rate.Tokens)))
	}
}

// WaitClass is the time until the node has the tokens that the call asks for, and some that it keeps. Where it can
// never have both, it is the time until the first registration ends.
func (c *Call) WaitClass(kept int64) int64 {
	s, period := &c.Class, uint64(c.Limit.Rate.Period)
	switch {
	case c.Op.Tokens > c.Limit.Capacity:
		return engine.NeverWait
	case c.Op.Tokens+kept > c.Limit.Capacity:
		if s.nextEnd == math.MaxInt64 {
			return engine.NeverWait
		}
		return max(1, s.nextEnd-c.Now)
	}
	wanted := s.taken.Plus(uint128.Product(uint64(c.Op.Tokens+kept), period))
	return wanted.Minus(uint128.Product(uint64(c.Limit.Capacity), period)).DivideUp(uint64(c.Limit.Rate.Tokens))
}
