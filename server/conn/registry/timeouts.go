package registry

import (
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/stats"
)

// CloseIdle closes connections that have been silent for too long. A connection that waits for a reply, or for
// messages, is not idle.
func (r *Registry) CloseIdle() {
	limit := r.Settings.Load().IdleTimeout
	if limit == 0 {
		return
	}
	oldest := r.Clock.Now() - int64(limit)
	for _, c := range r.All() {
		if c.lastActive.Load() < oldest && !c.Wait.Has(wait.ReplyEvents) && c.Channels.Load() == 0 {
			c.Kill()
		}
	}
}

// CloseUnauthenticated closes connections that have not logged in in time.
func (r *Registry) CloseUnauthenticated() {
	oldest := r.Clock.Now() - int64(r.Settings.Load().AuthTimeout)
	for _, c := range r.All() {
		if c.opened < oldest && !c.loggedIn.Load() && !c.killed.Load() {
			r.Counts.Reject(stats.LoginTimedOut)
			c.Kill()
		}
	}
}

// CloseStuck closes connections that are in the middle of a command, or of reading their replies, for too long.
func (r *Registry) CloseStuck() {
	cfg, now := r.Settings.Load(), r.Clock.Now()
	for _, c := range r.All() {
		if since := c.PartialSince.Load(); since > 0 && now-since > int64(cfg.CommandTimeout) && !c.killed.Load() {
			r.Counts.Reject(stats.CommandTimeout)
			c.Kill()
		}
		if since := c.PausedSince.Load(); since > 0 && now-since > int64(cfg.OutputTimeout) && !c.killed.Load() {
			r.Counts.SlowReaders.Add(1)
			c.Kill()
		}
	}
}
