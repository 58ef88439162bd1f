package server

import (
	"context"
	"time"
)

const (
	tendEvery = 100 * time.Millisecond
	// A sweep of all keys takes at least sweepRounds rounds, and a round looks at no more than maxSweep keys.
	sweepRounds = 50
	minSweep    = 2_000
	maxSweep    = 500_000
)

// tend does the server's housekeeping until ctx is done: it drops limiters that are as good as new, closes idle
// connections and keeps the rate for INFO.
func (s *Server) tend(ctx context.Context) {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		start := s.clock.Now()
		_, dropped := s.keys.Sweep(s.clock.Now(), min(max(s.keys.Len()/sweepRounds, minSweep), maxSweep))
		s.spike(eventExpireKey, s.clock.Now()-start)
		s.stats.expired.Add(int64(dropped))
		s.sample(s.clock.Now())
		s.keepBudget()
		s.lag.probe(s.clock, func(nanos int64) { s.spike(eventLoopLag, nanos) })
		s.closeIdle()
		s.closeLate()
		s.closeStuck()
		s.guard.sweep(s.clock.Now())
	}
}

// closeIdle closes connections that have been silent for too long; one whose reply is held back is not.
func (s *Server) closeIdle() {
	limit := s.Config().IdleTimeout
	if limit == 0 {
		return
	}
	oldest := s.clock.Now() - int64(limit)
	for _, c := range s.clients.all() {
		if c.lastActive.Load() < oldest && !c.waiting.Load() {
			c.kill()
		}
	}
}
