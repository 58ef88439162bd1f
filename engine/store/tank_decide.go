package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// decideTank answers an Acquire: granted if the tank has as many tokens. A denial has no wait; home knows it.
func decideTank(c *call) (changed bool) {
	t, res, asked := engine.LoadTank(c.state), c.result, c.op.Tokens
	if asked > t.Tokens && c.op.Options&engine.UpTo != 0 && t.Tokens > 0 {
		asked = t.Tokens
	}
	if asked <= t.Tokens {
		res.Allowed, res.Granted = true, asked
		t.Tokens -= asked
		t.UsedAt = c.now
	}
	res.Limit, res.Remaining = c.limit.Capacity, t.Tokens
	t.Store(c.next[:])
	return res.Granted > 0
}

func lookTank(c *call) {
	c.result.Limit, c.result.Remaining, c.result.Reset = c.limit.Capacity, engine.LoadTank(c.state).Tokens, engine.NeverExpires
}

// prepare gives the next operation a number, unless one is not answered yet. With [Cancel] it ends the loan: the tokens leave the tank.
// With [Force] the tokens are dropped, and an operation that is not answered is forgotten, because the state may be behind.
func prepareTank(t *engine.Tank, c *call) (changed bool) {
	if c.op.Options&engine.Force != 0 {
		changed = t.Tokens > 0 || t.Prepared
		t.Tokens, t.Prepared = 0, false
		return changed
	}
	if t.Prepared {
		return false
	}
	if t.Number == 0 {
		t.UsedAt = c.now
	}
	t.Number = max(t.Number+1, t.Previous+1, uint64(max(1, c.now))) // above those of an earlier tank of the key
	t.Prepared, t.Returning, t.Left = true, c.op.Options&engine.Cancel != 0, t.Tokens
	if t.Returning {
		t.Tokens = 0
	}
	return true
}

// deposit takes home's answer to the prepared operation: Tokens came, and Loan.Previous is the number that home has named. With
// [Force] the tokens that are there are dropped, because home does not lend them any longer. A tank without a loan is gone.
func depositTank(t *engine.Tank, c *call) (changed, isGone bool) {
	if c.isNew || !t.Prepared || t.Number != c.op.Loan.Number {
		return false, false
	}
	if c.op.Options&engine.Force != 0 {
		t.Tokens = 0
	}
	c.result.Granted = min(c.op.Tokens, limits.MaxTokens-t.Tokens)
	t.Tokens += c.result.Granted
	t.Previous, t.Prepared, t.Returning, t.Left = c.op.Loan.Previous, false, false, 0
	if t.Tokens > 0 {
		t.UsedAt = c.now
	}
	return true, t.Tokens == 0 && t.Previous == 0
}

// report fills in the result for [Result.Tank].
func reportTank(t *engine.Tank, c *call) {
	var state [engine.TankBytes]byte
	t.Store(state[:])
	c.result.Limit, c.result.Remaining = c.limit.Capacity, t.Tokens
	c.result.Reply = append(c.result.Reply[:0], state[:]...)
}
