package store

// Reserved tokens go back to the window that they were taken from, while that still counts. A refund, in contrast, gives
// back the newest tokens of the limiter.

func markWindow(c *call) int64 { return loadWindow(c.next[:]).start }

func unreserveWindow(c *call, start int64) {
	w := loadWindow(c.state)
	if w.start == start {
		c.result.Granted = min(c.op.Tokens, w.count)
		w.count -= c.result.Granted
	}
	w.store(c.next[:])
}

func markSliding(c *call) int64 { return loadWindowPair(c.next[:]).start }

func unreserveSliding(c *call, start int64) {
	width := c.prev.Rate.Period
	p := loadWindowPair(c.state).at(c.now, width)
	switch start {
	case p.start:
		c.result.Granted = min(c.op.Tokens, p.cur)
		p.cur -= c.result.Granted
	case p.start - width:
		c.result.Granted = min(c.op.Tokens, p.prev)
		p.prev -= c.result.Granted
	}
	p.store(c.next[:])
}

// unreserveLog takes tokens off the entry of one time, and removes it if none are left.
func unreserveLog(c *call, time int64) {
	g := slidingLog(c.state)
	i := g.first(c.now, c.prev.Rate.Period)
	for ; i < g.len() && g.time(i) < time; i++ {
	}
	if i == g.len() || g.time(i) != time {
		return
	}
	back := uint64(min(c.op.Tokens, int64(g.total(i)-g.before(i))))
	c.result.Granted = int64(back)
	to, n := i, g.len()
	if g.total(i)-g.before(i) == back {
		i++
	}
	for ; i < n; i, to = i+1, to+1 {
		g.set(to, g.time(i), g.total(i)-back)
	}
	g.setU32(12, to)
}
