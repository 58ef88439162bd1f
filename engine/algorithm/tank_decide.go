package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// decideTank answers an Acquire: granted if the tank has as many tokens. A denial has no wait; home knows it.
func decideTank(c *Call) (changed bool) {
	t, res, asked := engine.LoadTank(c.State), c.Result, c.Op.Tokens
	if asked > t.Tokens && c.Op.Options&engine.UpTo != 0 && t.Tokens > 0 {
		asked = t.Tokens
	}
	if asked <= t.Tokens {
		res.Allowed, res.Granted = true, asked
		t.Tokens -= asked
		t.UsedAt = c.Now
	}
	res.Limit, res.Remaining = c.Limit.Capacity, t.Tokens
	t.Store(c.Next[:])
	return res.Granted > 0
}

func lookTank(c *Call) {
	c.Result.Limit, c.Result.Remaining, c.Result.Reset = c.Limit.Capacity, engine.LoadTank(c.State).Tokens, engine.NeverExpires
}

// PrepareTank gives the next operation a number, unless one is not answered yet. With [engine.Cancel] it ends the loan: the tokens leave the tank.
// With [Force] the tokens are dropped, and an operation that is not answered is forgotten, because the state may be behind.
func PrepareTank(t *engine.Tank, c *Call) (changed bool) {
	if c.Op.Options&engine.Force != 0 {
		changed = t.Tokens > 0 || t.Prepared
		t.Tokens, t.Prepared = 0, false
		return changed
	}
	if t.Prepared {
		return false
	}
	if t.Number == 0 {
		t.UsedAt = c.Now
	}
	t.Number = max(t.Number+1, t.Previous+1, uint64(max(1, c.Now))) // above those of an earlier tank of the key
	t.Prepared, t.Returning, t.Left = true, c.Op.Options&engine.Cancel != 0, t.Tokens
	if t.Returning {
		t.Tokens = 0
	}
	return true
}

// DepositTank takes home's answer to the prepared operation: Tokens came, and Loan.Previous is the number that home has named. With
// [Force] the tokens that are there are dropped, because home does not lend them any longer. A tank without a loan is gone.
func DepositTank(t *engine.Tank, c *Call) (changed, isGone bool) {
	if c.IsNew || !t.Prepared || t.Number != c.Op.Loan.Number {
		return false, false
	}
	if c.Op.Options&engine.Force != 0 {
		t.Tokens = 0
	}
	c.Result.Granted = min(c.Op.Tokens, limits.MaxTokens-t.Tokens)
	t.Tokens += c.Result.Granted
	t.Previous, t.Prepared, t.Returning, t.Left = c.Op.Loan.Previous, false, false, 0
	if t.Tokens > 0 {
		t.UsedAt = c.Now
	}
	return true, t.Tokens == 0 && t.Previous == 0
}

// ReportTank fills in the result for [engine.Result.Tank].
func ReportTank(t *engine.Tank, c *Call) {
	var state [engine.TankBytes]byte
	t.Store(state[:])
	c.Result.Limit, c.Result.Remaining = c.Limit.Capacity, t.Tokens
	c.Result.Reply = append(c.Result.Reply[:0], state[:]...)
}
