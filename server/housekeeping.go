package server

import (
	"context"
	"time"

	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/latency"
)

const housekeepingInterval = 100 * time.Millisecond

// housekeep does the server's housekeeping until ctx is done: it follows the machine's clock, drops
// expired limiters, closes idle connections and keeps the rate for INFO.
func (s *Server) housekeep(ctx context.Context) {
	tick := time.NewTicker(housekeepingInterval)
	defer tick.Stop()
	sweeper := sweeper{keys: s.keys, memory: s.memory}
	var policies [32]byte
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if step := s.env.Clock.Follow(); step > 0 {
			s.env.Log.Warn("the time jumped forward with the machine's clock: the machine was suspended, or its clock was set",
				"by", step)
		}
		start := s.env.Clock.Now()
		dropped := sweeper.sweep(start)
		s.env.Latency.Note(latency.ExpireKey, s.env.Clock.Now()-start)
		s.env.Stats.Expired.Add(int64(dropped))
		if commands, denied, since := s.env.Stats.Sample(s.env.Clock.Now()); since > 0 {
			s.env.TopKeys.Adapt(denied, since)
			s.env.TopKeys.AdaptPassed(commands-denied, since)
		}
		s.memory.Enforce()
		s.lag.Probe(s.env.Clock, func(nanos int64) { s.env.Latency.Note(latency.EventLoop, nanos) })
		s.env.FollowLeader()
		followPolicies(&s.env, &policies)
		s.env.Registry.CloseIdle()
		s.env.Registry.CloseUnauthenticated()
		s.env.Registry.CloseStuck()
		s.env.Registry.CloseLargest()
		s.env.Logins.Sweep(s.env.Clock.Now())
		s.env.SweepUserRates(minSweep)
		s.env.Tracking.Shrink(10_000)
	}
}

// followPolicies makes the clients that wait for places look again if policies have changed since the last call: there
// may be more places, or none to wait for.
func followPolicies(e *conn.Env, before *[32]byte) {
	if e.Blocked.Len() == 0 {
		return
	}
	if now := e.Keys.PoliciesSum(); now != *before {
		*before = now
		e.Blocked.Reenter()
	}
}
