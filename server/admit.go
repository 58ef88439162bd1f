package server

import (
	"net/netip"

	"github.com/stintdb/stint/server/command"
)

// admit registers a new connection, or returns what it is told before it is closed.
func (s *Server) admit(n *session) error {
	cfg := s.Config()
	if cfg.ProtectedMode && s.isProtected(n) {
		s.refuse(notLocal)
		return command.ErrProtected
	}
	instead, err := s.clients.add(n, cfg)
	if err != nil {
		s.stats.rejected.Add(1)
		return err
	}
	s.stats.connections.Add(1)
	if instead != nil {
		s.refuse(strangerDropped)
		instead.kill()
	}
	return nil
}

// leave forgets a connection that is closed.
func (s *Server) leave(n *session) {
	n.abandon()
	s.clients.remove(n)
	s.buffered.Add(-int64(n.buffered))
	n.buffered = 0
}

// isProtected reports whether a connection would be let in without a password although it comes from elsewhere.
func (s *Server) isProtected(n *session) bool {
	return n.user != nil && !isLocal(n.addr)
}

// isLocal reports whether a client's address is on this machine; a unix socket's is none that could be parsed.
func isLocal(addr string) bool {
	at, err := netip.ParseAddrPort(addr)
	return err != nil || at.Addr().Unmap().IsLoopback()
}

// closeLate closes connections that have not logged in in time.
func (s *Server) closeLate() {
	oldest := s.clock.Now() - int64(s.Config().AuthTimeout)
	for _, c := range s.clients.all() {
		if c.opened < oldest && !c.loggedIn.Load() && !c.killed.Load() {
			s.refuse(lateLogin)
			c.kill()
		}
	}
}
