package store

import "github.com/stintdb/stint/engine"

// decideLoan answers a Lend, Return or Void, and leaves the new state in c.inner and c.loans. It reports whether there is one.
func (c *call) decideLoan(mayLend bool) (changed bool) {
	op, res, asked := c.op, c.result, c.limit
	held := loan{holder: op.Who}
	if one := c.loans.of(op.Who); one != nil {
		held = *one
	}
	c.limit = c.prev
	var taken int64      // by requests that wait
	var left, back int64 // of its tokens, those that the holder keeps, and those that it gives back
	switch {
	case op.Verb == engine.Void:
		if held.tokens == 0 || op.Options&engine.Force == 0 {
			return c.reportLoan(held)
		}
	case op.Verb == engine.Lend && held.number == op.Loan.Number && op.Loan.Left <= held.tokens: // it is asked again
		res.Granted = held.tokens - op.Loan.Left
		return c.reportLoan(held)
	case held.number != op.Loan.Previous:
		return c.reportLoan(held)
	case op.Loan.Left > held.tokens:
		res.Status, res.Lent = engine.NotHeld, held.tokens
		return false
	case op.Verb == engine.Lend:
		left = op.Loan.Left
	case op.Verb == engine.Return:
		back = op.Loan.Left
	}
	spent := held.tokens - left - back
	c.lent -= held.tokens - left
	if spent > 0 {
		algorithms[c.limit.Algorithm].charge(c.inner[:], &c.limit, c.now, spent)
	}
	after := loan{held.holder, left, held.number, held.until}
	switch op.Verb {
	case engine.Lend:
		mayLend = mayLend && asked == c.limit
		if mayLend && op.Options&engine.Merged != 0 {
			taken = c.grantWaiting(op, left)
		}
		if mayLend && (held.tokens > 0 || len(c.loans.all) < MaxLoans) {
			res.Granted = min(op.Tokens, c.available()/lendShare)
		}
		renews := op.MaxWait != 0 && left+res.Granted > 0
		if spent == 0 && taken == 0 && res.Granted == 0 && !renews {
			return c.reportLoan(held)
		}
		c.lent += res.Granted
		after.tokens, after.number = left+res.Granted, op.Loan.Number
		if after.until = 0; op.MaxWait != 0 {
			after.until = c.now + op.MaxWait
		}
	case engine.Return:
		res.Granted = back
	case engine.Void:
		res.Granted = spent
	}
	c.loans.put(after)
	c.reportLoan(after)
	res.Granted += taken
	return held.tokens != 0 || after.tokens != 0 || taken != 0
}

// grantWaiting charges the tokens of the requests that wait, as far as there are some, and leaves the wait of the first denied one. The holder has
// the tokens that are left.
func (c *call) grantWaiting(lend *engine.Op, left int64) (tokens int64) {
	w := lend.Loan
	n := min(w.Waiting, c.available()/w.Each)
	base := &algorithms[c.limit.Algorithm]
	if tokens = n * w.Each; tokens > 0 {
		base.charge(c.inner[:], &c.limit, c.now, tokens)
	}
	if n < w.Waiting {
		if one := c.loans.of(lend.Who); one != nil {
			defer func(before loan) { *one = before }(*one)
			if one.tokens, one.until = left, 0; lend.MaxWait != 0 {
				one.until = c.now + lend.MaxWait
			}
		}
		op, state, isNew := c.op, c.state, c.isNew
		c.op, c.state, c.isNew = &engine.Op{Limit: c.limit, Tokens: w.Each}, c.inner[:base.bytes], false
		base.decide(c)
		c.op, c.state, c.isNew = op, state, isNew
	}
	return tokens
}

// available is the whole tokens that the limiter, whose state is c.inner, could grant now.
func (c *call) available() int64 {
	c.lookInside()
	return max(0, c.result.Remaining)
}

// lookInside fills in the result from the state in c.inner.
func (c *call) lookInside() {
	base := &algorithms[c.limit.Algorithm]
	granted := c.result.Granted
	state, isNew := c.state, c.isNew
	c.state, c.isNew = c.inner[:base.bytes], false
	base.look(c)
	c.state, c.isNew, c.result.Granted = state, isNew, granted
}

// reportLoan fills in the result beyond Granted, and returns false.
func (c *call) reportLoan(of loan) (changed bool) {
	c.lookInside()
	c.result.Lent, c.result.Number = of.tokens, of.number
	if of.tokens == 0 {
		c.result.Number = 0
	}
	if of.until != 0 {
		c.result.Wait = of.until - c.now
	}
	return false
}

// lendShare is the part of the available tokens that one Lend grants at most, so that a limit becomes strict as it comes near.
const lendShare = 8
