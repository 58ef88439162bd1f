package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// List answers an operation that lists the contents of the state of a limiter. It returns false for any other.
func List(c *Call) bool {
	switch c.Op.Verb {
	case engine.ListLog:
		listLog(c)
	case engine.ListMembers:
		listMembers(c)
	case engine.ListWindows:
		listWindows(c)
	case engine.ListCredits:
		listCredits(c)
	default:
		return false
	}
	return true
}

// listWindows shows a limiter, and lists its open window and the closed ones.
func listWindows(c *Call) {
	switch {
	case c.Prev.Algorithm.IsPurse():
		c.Result.Status = engine.NotAwayFromHome
		return
	case !c.Prev.Algorithm.Decides():
		c.WrongType(limits.NoAlgorithm)
		return
	}
	if c.Listed += closedBytes * (1 + int(c.Prev.History)); c.Listed > engine.MaxListedBytes {
		c.Result.Status = engine.ListTooLong
		return
	}
	look := engine.Op{Verb: engine.Look, Key: c.Op.Key}
	c.Op = &look
	c.Show()
	res := c.Result
	open := engine.Window{Used: res.Limit - res.Remaining - res.Lent}
	if c.Prev.Algorithm == limits.FixedWindow {
		if w := windowUnder(c, &c.Prev); w.Count > 0 || c.Prev.Span != limits.FromFirst {
			open.Start, open.End = w.start, w.end
		}
	}
	res.Bytes = int64(len(c.State)) // of which Result.ShowsHeld needs some
	kept := 0
	if c.Wrapped {
		open.Reserved, kept = min(c.History.Reserved, open.Used), min(c.History.Len(), int(c.Prev.History))
	}
	res.Reply = res.Reply[:0]
	res.AddWindow(open)
	for i := range kept {
		if w := c.History.At(i); w.Used > 0 { // else it is there for what it has left
			res.AddWindow(engine.Window(w))
		}
	}
	res.Work += kept
}

const closedBytes = 40 // of a window in the list, at most
