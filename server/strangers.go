package server

// Who may be connected: so many from one address, and so many that have not logged in.

// countIn counts a new connection, and returns one that has to go for it: of those that have not logged in, the one that
// has had the most time to.
func (c *clients) countIn(n *session, maxStrangers int) (oldest *session) {
	c.perNetwork[n.network]++
	if n.loggedIn.Load() {
		return nil
	}
	c.strangers = append(c.strangers, n)
	c.unknown++
	for c.unknown > maxStrangers && len(c.strangers) > 0 {
		first := c.strangers[0]
		c.strangers = c.strangers[1:]
		if c.byID[first.id] == first && !first.loggedIn.Load() && !first.killed.Load() {
			return first
		}
	}
	if len(c.strangers) > 2*maxStrangers+16 {
		c.forgetKnown()
	}
	return nil
}

// forgetKnown takes those out of the queue of strangers that have gone or logged in.
func (c *clients) forgetKnown() {
	kept := make([]*session, 0, len(c.strangers)/2)
	for _, s := range c.strangers {
		if c.byID[s.id] == s && !s.loggedIn.Load() {
			kept = append(kept, s)
		}
	}
	c.strangers = kept
}

// countOut counts a connection that is closed.
func (c *clients) countOut(n *session) {
	if c.perNetwork[n.network]--; c.perNetwork[n.network] <= 0 {
		delete(c.perNetwork, n.network)
	}
	if !n.loggedIn.Load() {
		c.unknown--
	}
}

// changeStrangers counts a registered connection that has logged in or, with out, gone back to before.
func (c *clients) changeStrangers(out bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if out {
		c.unknown++
	} else {
		c.unknown--
	}
}
