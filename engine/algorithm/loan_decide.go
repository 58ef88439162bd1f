package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
)

// DecideLoan answers a Lend, Return or Void, and leaves the new state in c.inner and c.loans. It reports whether there
// is one. The key may be lent to a number of holders; with 0, no loan becomes larger.
func (c *Call) DecideLoan(holders int) (changed bool) {
	op, res, asked := c.Op, c.Result, c.Limit
	held := layout.Loan{Holder: op.Who}
	if one := c.Loans.Of(op.Who); one != nil {
		held = *one
	}
	c.Limit = c.Prev
	var taken int64      // by requests that wait
	var left, back int64 // of its tokens, how many the holder keeps, and how many it gives back
	switch {
	case op.Verb == engine.Void:
		if held.Tokens == 0 || op.Options&engine.Force == 0 {
			return reportLoan(c, held)
		}
	case op.Verb == engine.Lend && held.Number == op.Loan.Number && op.Loan.Left <= held.Tokens: // it is asked again
		res.Granted = held.Tokens - op.Loan.Left
		return reportLoan(c, held)
	case held.Number != op.Loan.Previous:
		return reportLoan(c, held)
	case op.Loan.Left > held.Tokens, op.Verb == engine.Return && op.Loan.Left+int64(op.Keep) > held.Tokens:
		res.Status, res.Lent = engine.NotHeld, held.Tokens
		return false
	case op.Verb == engine.Lend:
		left = op.Loan.Left
	case op.Verb == engine.Return:
		back, left = op.Loan.Left, int64(op.Keep)
	}
	spent := held.Tokens - left - back
	c.Lent -= held.Tokens - left
	if spent > 0 {
		Table[c.Limit.Algorithm].Charge(c.Inner[:], &c.Limit, c.Now, spent)
	}
	after := layout.Loan{Holder: held.Holder, Tokens: left, Number: held.Number, Until: held.Until}
	switch op.Verb {
	case engine.Lend:
		if holders > 0 && asked == c.Limit {
			taken = lend(c, held, left, holders)
		}
		renews := op.MaxWait != 0 && left+res.Granted > 0
		if spent == 0 && taken == 0 && res.Granted == 0 && !renews {
			return reportLoan(c, held)
		}
		c.Lent += res.Granted
		after.Tokens, after.Number = left+res.Granted, op.Loan.Number
		if after.Until = 0; op.MaxWait != 0 {
			after.Until = c.Now + op.MaxWait
		}
	case engine.Return:
		res.Granted, after.Number = back, op.Loan.Number
	case engine.Void:
		res.Granted = spent
	}
	c.Loans.Put(after)
	reportLoan(c, after)
	res.Granted += taken
	return held.Tokens != 0 || after.Tokens != 0 || taken != 0
}

// lend grants what may be lent to the holder of a loan, after the tokens of the requests that wait, which are taken.
func lend(c *Call, held layout.Loan, left int64, holders int) (taken int64) {
	if c.Op.Options&engine.Merged != 0 {
		taken = grantWaiting(c, c.Op, left)
	}
	if held.Tokens > 0 || len(c.Loans.All) < holders {
		c.Result.Granted = min(c.Op.Tokens, available(c)/partOf(c.Op))
	}
	return taken
}

// grantWaiting charges the tokens of the requests that wait, as far as there are some, and leaves the wait of the first
// denied one. The holder has the tokens that are left.
func grantWaiting(c *Call, lend *engine.Op, left int64) (tokens int64) {
	w := lend.Loan
	n := min(w.Waiting, available(c)/w.Each)
	base := &Table[c.Limit.Algorithm]
	if tokens = n * w.Each; tokens > 0 {
		base.Charge(c.Inner[:], &c.Limit, c.Now, tokens)
	}
	if n < w.Waiting {
		if one := c.Loans.Of(lend.Who); one != nil {
			defer func(before layout.Loan) { *one = before }(*one)
			if one.Tokens, one.Until = left, 0; lend.MaxWait != 0 {
				one.Until = c.Now + lend.MaxWait
			}
		}
		op, state, isNew := c.Op, c.State, c.IsNew
		c.Op, c.State, c.IsNew = &engine.Op{Limit: c.Limit, Tokens: w.Each}, c.Inner[:base.Bytes], false
		base.Decide(c)
		c.Op, c.State, c.IsNew = op, state, isNew
	}
	return tokens
}

// available is the whole tokens that the limiter, whose state is c.inner, could grant now.
func available(c *Call) int64 {
	lookInside(c)
	return max(0, c.Result.Remaining)
}

// lookInside fills in the result from the state in c.inner.
func lookInside(c *Call) {
	base := &Table[c.Limit.Algorithm]
	granted := c.Result.Granted
	state, isNew := c.State, c.IsNew
	c.State, c.IsNew = c.Inner[:base.Bytes], false
	base.Look(c)
	c.State, c.IsNew, c.Result.Granted = state, isNew, granted
}

// reportLoan fills in the result beyond Granted, and returns false.
func reportLoan(c *Call, of layout.Loan) (changed bool) {
	lookInside(c)
	c.Result.Lent, c.Result.Number = of.Tokens, of.Number
	if of.Tokens == 0 {
		c.Result.Number = 0
	}
	if of.Until != 0 {
		c.Result.Wait = of.Until - c.Now
	}
	return false
}

// partOf divides the available tokens: a Lend grants at most one such part.
func partOf(lend *engine.Op) int64 {
	if lend.Options&engine.Whole != 0 {
		return 1
	}
	return LendPart
}

// LendPart is the part of the available tokens that one Lend grants at most, so that a limit becomes strict as it comes
// near.
const LendPart = 8
