package server

import (
	"net"

	"github.com/stintdb/stint/server/netio"
)

// listen opens all addresses, starts the event loops, and then accepts connections. It returns the addresses in use.
func (s *Server) listen() (addresses []string, err error) {
	cfg := s.Config()
	plain, err := netio.OpenAll(cfg.Listen, "--listen")
	if err != nil {
		return nil, err
	}
	secure, err := s.tls.Listen()
	if err == nil {
		s.eventLoops, err = netio.StartEventLoops(&s.env, &s.lag, cfg.Loops, s.handoffLimit)
	}
	if err != nil {
		netio.CloseAll(append(plain, secure...))
		return nil, err
	}
	failed := (&netio.AcceptErrors{Clock: s.env.Clock, Log: s.env.Log}).Note
	for _, ln := range plain {
		addresses = append(addresses, ln.Addr().String())
		s.acceptor.Add(ln, func(client net.Conn) { s.eventLoops.Assign(client, failed) }, failed)
	}
	for _, ln := range secure {
		addresses = append(addresses, ln.Addr().String()+" (TLS)")
		s.acceptor.Add(ln, s.tls.Serve, failed)
	}
	return addresses, nil
}

// ReloadTLS reads certificate, key and client CA again, for connections from then on. On an error those in use stay.
func (s *Server) ReloadTLS() error { return s.tls.Reload() }
