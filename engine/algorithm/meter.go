package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// takenUnder returns the ticks taken at the call's time under a limit, which may be another than the state's.
func takenUnder(c *Call, limit *limits.Limit) uint128.Int {
	taken := layout.LoadMeter(c.State).Taken(c.Now, c.Prev.Rate)
	if c.Prev.Rate != limit.Rate {
		taken = layout.CarryOver(taken, c.Prev.Rate, limit.Rate)
	}
	return taken
}

// decideMeter answers an Acquire by the token bucket rule: granted if the tokens taken before and the requested tokens
// fit the capacity, or will within MaxWait.
func decideMeter(c *Call) (changed bool) {
	op, rate := c.Op, c.Limit.Rate
	period, tokensPerPeriod := uint64(rate.Period), uint64(rate.Tokens)
	taken := takenUnder(c, &c.Limit)
	asked := uint128.Product(uint64(op.Tokens), period)
	room := uint128.Product(uint64(max(0, c.grantable())), period)
	var ahead uint128.Int // ticks that refill within MaxWait
	if op.MaxWait > 0 && (op.Keep == 0 || op.Keep == engine.KeepNothing) {
		ahead = uint128.Min(uint128.Product(uint64(op.MaxWait), tokensPerPeriod), uint128.Product(limits.MaxTokens, period))
	}
	reach := room.Plus(ahead) // ticks that may be taken in all

	granted := op.Tokens
	after := taken.Plus(asked)
	if after.Exceeds(reach) {
		switch {
		case op.Options&engine.Force != 0:
			if after.Exceeds(room.Plus(uint128.Product(limits.MaxTokens, period))) || after.Exceeds(uint128.Product(uint64(limits.MaxAhead), tokensPerPeriod)) {
				c.Result.Status = engine.DebtTooBig
				return false
			}
		case op.Options&engine.UpTo != 0:
			available, _ := reach.Minus(taken).Divide(period)
			if available == 0 {
				denyMeter(c, taken, uint128.Product(1, period), reachWithLoans(c, ahead))
				return false
			}
			granted = int64(available)
			after = taken.Plus(uint128.Product(available, period))
		default:
			denyMeter(c, taken, asked, reachWithLoans(c, ahead))
			return false
		}
	}
	res := c.Result
	res.Allowed, res.Granted = true, granted
	if op.Options&engine.Force == 0 {
		res.Wait = after.Minus(room).DivideUp(tokensPerPeriod)
	}
	reportMeter(c, after, &c.Limit, op.Options&engine.Force != 0)
	c.storeMeter(after, rate)
	return granted > 0
}

// reachWithLoans is the ticks that may be taken in all, the tokens of holders included.
func reachWithLoans(c *Call, ahead uint128.Int) uint128.Int {
	return uint128.Product(uint64(max(0, c.grantable()+c.Lent)), uint64(c.Limit.Rate.Period)).Plus(ahead)
}

// denyMeter reports a denial, where reach ticks may be taken in all.
func denyMeter(c *Call, taken, asked, reach uint128.Int) {
	c.Result.Wait = engine.NeverWait
	if !asked.Exceeds(reach) {
		c.Result.Wait = meterWait(c, taken, asked, reach)
	}
	reportMeter(c, taken, &c.Limit, false)
}

// reportMeter fills in the tokens left once ticks are taken. Debt shows below zero only where the caller asked for it.
func reportMeter(c *Call, ticks uint128.Int, limit *limits.Limit, showDebt bool) {
	res := c.Result
	res.Limit = limit.Capacity
	res.Remaining = limit.Capacity - c.Lent - ticks.DivideUp(uint64(limit.Rate.Period))
	if res.Remaining < 0 && !showDebt {
		res.Remaining = 0
	}
	res.Reset = ticks.DivideUp(uint64(limit.Rate.Tokens))
}

func lookMeter(c *Call) {
	reportMeter(c, takenUnder(c, &c.Limit), &c.Limit, c.Op.Verb == engine.Look)
}

func refundMeter(c *Call) {
	period := uint64(c.Prev.Rate.Period)
	taken := takenUnder(c, &c.Prev)
	left := taken.Minus(uint128.Product(uint64(c.Op.Tokens), period))
	back, rest := taken.Minus(left).Divide(period)
	if rest > 0 {
		back++ // the last token had partly refilled
	}
	c.Result.Granted = int64(back)
	reportMeter(c, left, &c.Prev, true)
	c.storeMeter(left, c.Prev.Rate)
}

// storeMeter leaves the ticks taken in Next, and whether a warning was given.
func (c *Call) storeMeter(taken uint128.Int, rate limits.Rate) {
	layout.MeterAfter(c.Now, taken, rate).Store(c.Next[:])
	c.Next[meterWarnedAt] |= c.State[meterWarnedAt] & layout.WarnedBit
}

func meterExpired(state []byte, _ *limits.Limit, now int64) bool {
	return layout.LoadMeter(state).IsFull(now)
}

// chargeMeter takes tokens at a time. No debt lies further in the future than a meter can hold.
func chargeMeter(state []byte, l *limits.Limit, at, tokens int64) {
	taken := layout.LoadMeter(state).Taken(at, l.Rate).Plus(uint128.Product(uint64(tokens), uint64(l.Rate.Period)))
	taken = uint128.Min(taken, uint128.Product(uint64(limits.MaxAhead), uint64(l.Rate.Tokens)))
	warned := state[meterWarnedAt] & layout.WarnedBit
	layout.MeterAfter(at, taken, l.Rate).Store(state)
	state[meterWarnedAt] |= warned
}
