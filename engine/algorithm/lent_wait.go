package algorithm

import (
	"math"

	"github.com/stintdb/stint/engine/internal/uint128"
)

// The wait of a denial beside loans: the time until the same request would be granted if nobody else comes, the holders
// among them. A loan with an end is charged then. One without counts as spent now, because nobody knows when its holder
// states it.

// meterWait is the wait of a denial by a meter, with ticks taken and asked for, where reach may be taken in all.
func meterWait(c *Call, taken, asked, reach uint128.Int) int64 {
	period, tokensPerPeriod := uint64(c.Limit.Rate.Period), uint64(c.Limit.Rate.Tokens)
	spent, set := undated(c)
	taken = taken.Plus(uint128.Product(uint64(spent), period))
	for at := c.Now; ; {
		need := asked.Plus(uint128.Product(uint64(set), period))
		passed := at - c.Now
		wait := passed + min(taken.Plus(need).Minus(reach).DivideUp(tokensPerPeriod), math.MaxInt64-passed) // loans of a faster rate may take millennia
		if len(c.ending) == 0 {
			return wait
		}
		next := c.nextEnd()
		if !need.Exceeds(reach) && wait <= next.at-c.Now {
			return wait
		}
		taken = taken.Minus(uint128.Product(uint64(next.at-at), tokensPerPeriod)).Plus(uint128.Product(uint64(next.tokens), period))
		at, set = next.at, set-next.tokens
	}
}

// windowWait is the wait of a denial in a fixed window that counts tokens, where room may be counted in all.
func windowWait(c *Call, w window, room int64) int64 {
	spent, set := undated(c)
	asked, count, end := c.leastAsked(), w.Count+spent, w.end
	if count == 0 {
		end = c.Now // no window is open
	}
	for len(c.ending) > 0 {
		next := c.nextEnd()
		if next.at > end && end > c.Now && asked+set <= room {
			break
		}
		if set -= next.tokens; next.at >= end {
			_, end = WindowAt(next.at, &c.Limit)
			count = 0
		}
		if count += next.tokens; asked+count+set <= room {
			return next.at - c.Now
		}
	}
	return end - c.Now
}

// nextEnd takes the loan that ends first out of c.ending.
func (c *Call) nextEnd() (next loanEnd) {
	first := 0
	for i := range c.ending {
		if c.ending[i].at < c.ending[first].at {
			first = i
		}
	}
	next = c.ending[first]
	c.ending[first] = c.ending[len(c.ending)-1]
	c.ending = c.ending[:len(c.ending)-1]
	return next
}

// undated returns the tokens of the loans without an end, and those of the others, which are left in c.ending.
func undated(c *Call) (tokens, dated int64) {
	if c.ending = c.ending[:0]; c.Lent == 0 {
		return 0, 0
	}
	for i := range c.Loans.All {
		if l := &c.Loans.All[i]; l.Until != 0 {
			c.ending = append(c.ending, loanEnd{l.Until, l.Tokens})
			dated += l.Tokens
		}
	}
	return c.Lent - dated, dated
}
