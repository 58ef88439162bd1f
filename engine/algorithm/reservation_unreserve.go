package algorithm

import "github.com/stintdb/stint/engine/layout"

// Reserved tokens go back to the window that they were taken from, while that still counts. A refund, in contrast,
// gives back the newest tokens of the limiter.

func markWindow(c *Call) int64 { return LoadWindow(c.Next[:]).start }

func unreserveWindow(c *Call, start int64) {
	w := LoadWindow(c.State)
	switch {
	case w.start == start:
		c.Result.Granted = min(c.Op.Tokens, w.Count)
		w.Count -= c.Result.Granted
		c.History.Reserved = max(0, c.History.Reserved-c.Reserved)
	case c.Wrapped:
		c.History.Settle(start, c.Op.Tokens, c.Reserved)
	}
	c.Reserved = 0
	w.store(c.Next[:])
}

func markSliding(c *Call) int64 { return layout.LoadWindowPair(c.Next[:]).Start }

func unreserveSliding(c *Call, start int64) {
	width := c.Prev.Rate.Period
	p := layout.LoadWindowPair(c.State).At(c.Now, width)
	switch start {
	case p.Start:
		c.Result.Granted = min(c.Op.Tokens, p.Cur)
		p.Cur -= c.Result.Granted
	case p.Start - width:
		c.Result.Granted = min(c.Op.Tokens, p.Prev)
		p.Prev -= c.Result.Granted
	}
	p.Store(c.Next[:])
}
