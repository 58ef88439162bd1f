package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/stintdb/stint/server/gateway"
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
		s.eventLoops, err = netio.StartEventLoops(&s.env, &s.lag, cfg.LoopCount(), s.handoffLimit, s.keepProcessors)
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
	started := 0
	for ; started < len(s.services); started++ {
		var more []string
		if more, err = s.services[started].Start(s.gateway); err != nil {
			break
		}
		addresses = append(addresses, more...)
	}
	if err == nil {
		err = netio.CheckInherited()
	}
	if err != nil {
		s.acceptor.Close()
		stopServices(s.services[:started], 0)
		return nil, errors.Join(err, s.eventLoops.Stop())
	}
	return addresses, nil
}

// stopServices stops the servers of other protocols, at the same time. They may take the timeout for requests under
// way.
func stopServices(services []gateway.Service, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var stopping sync.WaitGroup
	for _, service := range services {
		stopping.Go(func() { service.Stop(ctx) })
	}
	stopping.Wait()
}

// ReloadTLS reads certificate, key and client CA again, for connections from then on. On an error those in use stay.
func (s *Server) ReloadTLS() error { return s.tls.Reload() }
