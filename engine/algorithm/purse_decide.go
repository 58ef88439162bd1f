package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// decidePurse answers an Acquire: granted if the purse has as many tokens. A denial has no wait; home knows it.
func decidePurse(c *Call) (changed bool) {
	p, res, asked := purse.Load(c.State), c.Result, c.Op.Tokens
	if asked > p.Tokens && c.Op.Options&engine.UpTo != 0 && p.Tokens > 0 {
		asked = p.Tokens
	}
	if asked <= p.Tokens {
		res.Allowed, res.Granted = true, asked
		p.Tokens -= asked
		p.UsedAt = c.Now
	}
	res.Limit, res.Remaining = c.Limit.Capacity, p.Tokens
	p.Store(c.Next[:])
	return res.Granted > 0
}

func lookPurse(c *Call) {
	c.Result.Limit, c.Result.Remaining, c.Result.Reset = c.Limit.Capacity, purse.Load(c.State).Tokens, engine.NeverExpires
}

// markPurse is the number of the last operation that was prepared: home has not heard yet that these tokens are spent.
func markPurse(c *Call) int64 { return int64(purse.Load(c.Next[:]).Number) }

// unreservePurse gives back tokens of which home has not heard that they are spent. After MaxWait, if it is not 0, home may
// count the whole loan as spent.
func unreservePurse(c *Call, number int64) {
	p := purse.Load(c.State)
	if p.Number == uint64(number) && (c.Op.MaxWait == 0 || c.Now-p.LentAt() < c.Op.MaxWait) {
		c.Result.Granted = min(c.Op.Tokens, limits.MaxTokens-p.Tokens)
		p.Tokens += c.Result.Granted
		p.UsedAt = c.Now
	}
	p.Store(c.Next[:])
}

// PreparePurse gives the next operation a number, unless one is not answered yet. With [engine.Cancel] it ends the
// loan: the tokens leave the purse. With [Force] the tokens are dropped, and an operation that is not answered is
// forgotten, because the state may be behind.
func PreparePurse(p *purse.Purse, c *Call) (changed bool) {
	if c.Op.Options&engine.Force != 0 {
		changed = p.Tokens > 0 || p.Prepared
		p.Tokens, p.Prepared = 0, false
		return changed
	}
	if p.Prepared {
		return false
	}
	if p.Number == 0 {
		p.UsedAt = c.Now
	}
	number := max(p.Number+1, p.Previous+1, uint64(max(1, c.Now))) // above the numbers of an earlier purse of the key
	p.Prepare(number, c.Op.Options&engine.Cancel != 0)
	return true
}

// DepositPurse takes home's answer to the prepared operation: Tokens came, and Loan.Previous is the number that home
// has named. With [Force] the tokens that are there are dropped, because home does not lend them any longer. A purse
// without a loan is gone.
func DepositPurse(p *purse.Purse, c *Call) (changed, isGone bool) {
	if c.IsNew || !p.Prepared || p.Number != c.Op.Loan.Number {
		return false, false
	}
	c.Result.Granted = p.Deposit(c.Op.Tokens, c.Op.Options&engine.Force != 0, c.Op.Loan.Previous)
	if p.Tokens > 0 {
		p.UsedAt = c.Now
	}
	return true, p.Tokens == 0 && p.Previous == 0
}

// ReportPurse fills in the result for [purse.Of].
func ReportPurse(p *purse.Purse, c *Call) {
	var state [purse.Bytes]byte
	p.Store(state[:])
	c.Result.Limit, c.Result.Remaining = c.Limit.Capacity, p.Tokens
	c.Result.Reply = append(c.Result.Reply[:0], state[:]...)
}
