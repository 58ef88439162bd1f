package conn

import "github.com/stintdb/stint/server/stats"

// CloseIdle closes connections that have been silent for too long. A connection that waits for a reply, or for messages, is not idle.
func (r *Registry) CloseIdle() {
	limit := r.env.config().IdleTimeout
	if limit == 0 {
		return
	}
	oldest := r.env.Clock.Now() - int64(limit)
	for _, c := range r.All() {
		if c.lastActive.Load() < oldest && !c.wait.has(replyEvents) && c.channels.Load() == 0 {
			c.Kill()
		}
	}
}

// CloseUnauthenticated closes connections that have not logged in in time.
func (r *Registry) CloseUnauthenticated() {
	oldest := r.env.Clock.Now() - int64(r.env.config().AuthTimeout)
	for _, c := range r.All() {
		if c.opened < oldest && !c.loggedIn.Load() && !c.killed.Load() {
			r.env.Stats.Reject(stats.LoginTimedOut)
			c.Kill()
		}
	}
}

// CloseStuck closes connections that are in the middle of a command, or of reading their replies, for too long.
func (r *Registry) CloseStuck() {
	cfg, now := r.env.config(), r.env.Clock.Now()
	for _, c := range r.All() {
		if since := c.partialSince.Load(); since > 0 && now-since > int64(cfg.CommandTimeout) && !c.killed.Load() {
			r.env.Stats.Reject(stats.CommandTimeout)
			c.Kill()
		}
		if since := c.pausedSince.Load(); since > 0 && now-since > int64(cfg.OutputTimeout) && !c.killed.Load() {
			r.env.Stats.SlowReaders.Add(1)
			c.Kill()
		}
	}
}
