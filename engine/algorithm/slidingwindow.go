package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// pairUnder returns the state under a limit. Where the window's width changes, the tokens that count at this moment
// carry over, as if granted now.
func pairUnder(c *Call, l *limits.Limit) layout.WindowPair {
	width := l.Rate.Period
	fresh := layout.WindowPair{Start: c.Now - layout.FloorMod(c.Now, width)}
	if c.IsNew {
		return fresh
	}
	p := layout.LoadWindowPair(c.State).At(c.Now, c.Prev.Rate.Period)
	if c.Prev.Rate.Period == width {
		return p
	}
	fresh.Cur = p.Taken(c.Now, c.Prev.Rate.Period).DivideUp(uint64(c.Prev.Rate.Period))
	return fresh
}

func decideSliding(c *Call) (changed bool) {
	width := c.Limit.Rate.Period
	p := pairUnder(c, &c.Limit)
	used := p.Taken(c.Now, width).DivideUp(uint64(width))
	granted, ok := grantCounted(c, used)
	if !ok {
		if c.Result.Status == engine.OK && c.Result.Wait != engine.NeverWait {
			c.Result.Wait = p.Wait(c.Now, width, c.grantable(), c.leastAsked())
		}
		reportSliding(c, p, used, false)
		return false
	}
	p.Cur += granted
	reportSliding(c, p, used+granted, c.Op.Options&engine.Force != 0)
	p.Store(c.Next[:])
	return granted > 0
}

func reportSliding(c *Call, p layout.WindowPair, used int64, showDebt bool) {
	reportCount(c, used, c.Limit.Capacity, showDebt)
	c.Result.Reset = p.Reset(c.Now, c.Limit.Rate.Period)
}

func lookSliding(c *Call) {
	p := pairUnder(c, &c.Limit)
	width := c.Limit.Rate.Period
	reportSliding(c, p, p.Taken(c.Now, width).DivideUp(uint64(width)), c.Op.Verb == engine.Look)
}

// refundSliding gives back the latest grants first.
func refundSliding(c *Call) {
	width := c.Prev.Rate.Period
	p := layout.LoadWindowPair(c.State).At(c.Now, width)
	used := p.Taken(c.Now, width).DivideUp(uint64(width))
	tokens := min(c.Op.Tokens, used)
	left := used - tokens
	if tokens <= p.Cur {
		p.Cur -= tokens
	} else {
		p.Cur = 0 // the largest previous window of which no more than the tokens left still count
		prev, _ := uint128.Product(uint64(left), uint64(width)).Divide(uint64(p.Start + width - c.Now))
		p.Prev = int64(prev)
	}
	c.Result.Granted = tokens
	reportSliding(c, p, left, true)
	p.Store(c.Next[:])
}

func slidingExpired(state []byte, l *limits.Limit, now int64) bool {
	p := layout.LoadWindowPair(state)
	if p.Cur > 0 {
		return now >= p.Start+2*l.Rate.Period
	}
	return p.Prev == 0 && !p.Warned || now >= p.Start+l.Rate.Period
}
