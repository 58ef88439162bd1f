package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
)

// decideQueue answers an Acquire by the leaky bucket as a queue: requests leave one every P/N, a granted one waits for
// those before it, and at most Capacity may be there, the one that leaves at once included. It decides as nginx's
// limit_req with burst = Capacity-1 does. The state is the meter's: the time of arrival is when the queue is empty.
func decideQueue(c *Call) (changed bool) {
	if c.Op.Options&engine.Force != 0 { // only a settlement: used tokens take no place that others wait for
		return decideMeter(c)
	}
	period, tokensPerPeriod := uint64(c.Limit.Rate.Period), uint64(c.Limit.Rate.Tokens)
	queued := takenUnder(c, &c.Limit)
	asked := uint128.Product(uint64(c.Op.Tokens), period)
	room := uint128.Product(uint64(c.Limit.Capacity), period)
	after := queued.Plus(asked)
	late := uint128.Int{} // how much longer the queue is than the caller would wait
	if c.Op.MaxWait != 0 {
		late = queued.Minus(uint128.Product(uint64(max(0, c.Op.MaxWait)), tokensPerPeriod))
	}
	if after.Exceeds(room) || !late.IsZero() {
		denyMeter(c, queued, asked, room)
		if c.Result.Wait != engine.NeverWait {
			c.Result.Wait = max(c.Result.Wait, late.DivideUp(tokensPerPeriod))
		}
		return false
	}
	c.Result.Allowed, c.Result.Granted = true, c.Op.Tokens
	c.Result.Wait = queued.DivideUp(tokensPerPeriod)
	reportMeter(c, after, &c.Limit, false)
	c.storeMeter(after, c.Limit.Rate)
	return c.Op.Tokens > 0
}
