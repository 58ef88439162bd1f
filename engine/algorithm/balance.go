package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/balance"
	"github.com/stintdb/stint/engine/limits"
)

// A balance is in package balance. Its new credits are the content of the call, until they are written.

func decideBalance(c *Call) (changed bool) {
	c.Result.Work += len(c.State) / 64
	c.Content, changed = balance.Decide(c.Content[:0], c.State, c.Now, c.Op, c.Result)
	return changed
}

func lookBalance(c *Call) { balance.Look(c.State, c.Now, c.Op, c.Result) }

func refundBalance(c *Call) { unreserveBalance(c, balance.Never) }

func unreserveBalance(c *Call, until int64) { balance.GiveBack(c.State, c.Now, until, c.Op, c.Result) }

func markBalance(c *Call) int64 { return balance.LastTaken(c.State, c.Now, c.Result.Granted) }

// needBalance is the size that the credits need, or the size of a state that has room for them.
func needBalance(c *Call) int {
	if size := NeedReservation(c); c.IsNew || size > len(c.State) {
		return size
	}
	return len(c.State)
}

func listCredits(c *Call) {
	if c.Prev.Algorithm != limits.Balance {
		c.WrongType(limits.Balance)
		return
	}
	c.Show()
	res := c.Result
	res.Bytes = int64(len(c.State)) // of which Result.ShowsHeld needs some
	if c.Listed += len(c.State); c.Listed > engine.MaxListedBytes {
		res.Status = engine.ListTooLong
		return
	}
	res.Reply = balance.AppendList(res.Reply[:0], c.State, c.Now)
}
