package server

import (
	"context"
	"time"
)

// end ends the server in steps. It is not ready from now on, and whoever connects is refused. Another node of the cluster
// leads. For a time of grace, clients that are connected are still answered, and part between two requests; then what was
// read is answered, and every connection is closed.
func (s *Server) end() error {
	s.ending.Store(true)
	s.gate.close()
	s.giveUpLeadership()
	s.part()
	clean := s.drain()
	s.killAll()
	err := s.loops.stop()
	if !clean {
		s.log.Warn("connections were closed before they had read all their replies", "shutdown_timeout", s.Config().ShutdownTimeout)
	}
	return err
}

// part has connections to a node of a cluster close just after they have been answered, when a client that waits for its
// replies has nothing on its way, and those that are not asked anything stay for the time of grace.
func (s *Server) part() {
	if s.cluster == nil {
		return // there is nobody else to ask: the sooner a server alone is back, the better
	}
	s.parting.Store(true)
	until := s.clock.Now() + int64(s.Config().ShutdownGrace)
	for s.clients.count() > 0 && !s.hurry.Load() && s.clock.Now() < until {
		time.Sleep(drainPoll)
	}
}

// leavesNow reports whether the connection is to close as the server is ending.
func (s *session) leavesNow(unsent int) bool {
	if !s.ready() || unsent > 0 {
		return false
	}
	return s.host.draining.Load() || s.parts()
}

// parts reports whether the connection closes once what was answered in this turn has been sent.
func (s *session) parts() bool {
	return s.host.parting.Load() && s.answered && s.ready() && len(s.rest) == 0
}

// giveUpLeadership has another node lead before this one ends, so that clients need not wait for an election.
func (s *Server) giveUpLeadership() {
	if s.handOver == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handOverTimeout)
	defer cancel()
	if err := s.handOver(ctx); err != nil {
		s.log.Warn("no other node has taken over: the cluster elects one", "error", err)
	}
}

const handOverTimeout = 2 * time.Second

// Shutdown starts a drain and returns at once. It implements part of [command.Server].
func (s *Server) Shutdown(now, noSave bool) {
	if noSave && s.keeper != nil {
		s.keeper.SkipLastSnapshot()
	}
	s.hurry.Store(now)
	s.stopMu.Lock()
	defer s.stopMu.Unlock()
	if s.stop != nil {
		s.stop()
	}
}

// drain asks every connection to close once its replies are out, until the shutdown timeout. It reports whether all did.
func (s *Server) drain() (clean bool) {
	s.draining.Store(true)
	deadline := s.clock.Now() + int64(s.Config().ShutdownTimeout)
	for s.clients.count() > 0 {
		if s.hurry.Load() || s.clock.Now() >= deadline {
			return false
		}
		for _, c := range s.clients.all() {
			c.wake()
		}
		time.Sleep(drainPoll)
	}
	return true
}

// killAll closes what connections there still are; those on event loops end with the loops.
func (s *Server) killAll() {
	for _, c := range s.clients.all() {
		c.kill()
	}
}

const drainPoll = 5 * time.Millisecond
