package server

import (
	"context"
	"sync"
	"time"
)

// shutdown ends the server in steps. From now on it is not ready and refuses connections. It transfers leadership to
// another node of the cluster. Connections of protocols other than RESP close after the request under way. For
// --shutdown-grace it still answers connected clients of RESP and closes each between two requests. Last, it drains:
// commands already read are answered, and every connection is closed.
func (s *Server) shutdown() error {
	s.shuttingDown.Store(true)
	s.acceptor.Close()
	s.transferLeadership()
	var services sync.WaitGroup
	services.Go(func() { stopServices(s.services, s.Config().ShutdownTimeout) })
	s.closeAfterReplies()
	clean := s.drain()
	s.killAll()
	services.Wait()
	err := s.eventLoops.Stop()
	if !clean {
		s.env.Log.Warn("some connections were closed before they had read all their replies", "shutdown_timeout",
			s.Config().ShutdownTimeout)
	}
	return err
}

// closeAfterReplies makes connections to a node of a cluster close as soon as they have been answered, when a client
// that waits for its replies has nothing on its way. Idle connections stay for --shutdown-grace.
func (s *Server) closeAfterReplies() {
	if s.env.Cluster == nil {
		return // there is nobody else to ask: the sooner a server alone is back, the better
	}
	s.env.ClosingAfterReply.Store(true)
	until := s.env.Clock.Now() + int64(s.Config().ShutdownGrace)
	for s.env.Registry.Count() > 0 && !s.forceStop.Load() && s.env.Clock.Now() < until {
		time.Sleep(drainPoll)
	}
}

// transferLeadership lets another node lead before this one ends, so that clients need not wait for an election.
func (s *Server) transferLeadership() {
	if s.handLeadership == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), transferTimeout)
	defer cancel()
	if err := s.handLeadership(ctx); err != nil {
		s.env.Log.Warn("no other node has taken over the leadership, so the cluster elects a leader", "error", err)
	}
}

const transferTimeout = 2 * time.Second

// Shutdown starts a drain and returns at once. It implements part of [command.Server].
func (s *Server) Shutdown(now, noSave bool) {
	if noSave && s.persistence != nil {
		s.persistence.SkipLastSnapshot()
	}
	s.forceStop.Store(now)
	s.stopMu.Lock()
	defer s.stopMu.Unlock()
	if s.stop != nil {
		s.stop()
	}
}

// drain asks every connection to close once its replies are out, until the shutdown timeout. It reports whether all
// did.
func (s *Server) drain() (clean bool) {
	s.env.Drain()
	deadline := s.env.Clock.Now() + int64(s.Config().ShutdownTimeout)
	for s.env.Registry.Count() > 0 {
		if s.forceStop.Load() || s.env.Clock.Now() >= deadline {
			return false
		}
		for _, c := range s.env.Registry.All() {
			c.Wake()
		}
		time.Sleep(drainPoll)
	}
	return true
}

// killAll closes what connections there still are; those on event loops end with the loops.
func (s *Server) killAll() {
	for _, c := range s.env.Registry.All() {
		c.Kill()
	}
}

const drainPoll = 5 * time.Millisecond
