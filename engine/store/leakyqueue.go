package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
)

// decideQueue answers an Acquire by the leaky bucket as a queue: requests leave one every P/N, a granted one waits for
// those before it, and at most Capacity may be there, the one that leaves at once included. It decides as nginx's
// limit_req with burst = Capacity-1 does. The state is the meter's: the time of arrival is when the queue is empty.
func decideQueue(c *call) (changed bool) {
	if c.op.Options&engine.Force != 0 { // only a settlement: used tokens take no place that others wait for
		return decideMeter(c)
	}
	period, tokensPerPeriod := uint64(c.limit.Rate.Period), uint64(c.limit.Rate.Tokens)
	queued := c.takenUnder(&c.limit)
	asked := uint128.Product(uint64(c.op.Tokens), period)
	room := uint128.Product(uint64(c.limit.Capacity), period)
	after := queued.Plus(asked)
	late := uint128.Int{} // how much longer the queue is than the caller would wait
	if c.op.MaxWait != 0 {
		late = queued.Minus(uint128.Product(uint64(max(0, c.op.MaxWait)), tokensPerPeriod))
	}
	if after.Exceeds(room) || !late.IsZero() {
		c.denyMeter(queued, asked, room)
		if c.result.Wait != engine.NeverWait {
			c.result.Wait = max(c.result.Wait, late.DivideUp(tokensPerPeriod))
		}
		return false
	}
	c.result.Allowed, c.result.Granted = true, c.op.Tokens
	c.result.Wait = queued.DivideUp(tokensPerPeriod)
	c.reportMeter(after, &c.limit, false)
	meterAfter(c.now, after, c.limit.Rate).store(c.next[:])
	return c.op.Tokens > 0
}
