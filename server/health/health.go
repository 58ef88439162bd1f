// Package health answers HTTP health checks at addresses that are open to all, and nothing else. It is a
// [gateway.Service].
package health

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/netio"
)

// Service is the server of --health-listen.
type Service struct {
	http    *http.Server
	serving sync.WaitGroup
	open    atomic.Int64 // connections
}

// The limits of the connections. A check is one short request.
const (
	maxConnections = 64
	maxHeaderBytes = 4 << 10
	timeout        = 5 * time.Second
)

// Start implements [gateway.Service].
func (s *Service) Start(g *gateway.Gateway) (addresses []string, err error) {
	listeners, err := netio.OpenAll(g.Config().HealthListen, "--health-listen")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	for _, path := range []string{"GET /healthcheck", "GET /readyz"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if err := g.Ready(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write([]byte("ready\n"))
		})
	}
	s.http = &http.Server{
		Handler: mux, ErrorLog: slog.NewLogLogger(g.Log().Handler(), slog.LevelDebug), MaxHeaderBytes: maxHeaderBytes,
		ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: timeout, ConnState: s.count,
	}
	for _, ln := range listeners {
		addresses = append(addresses, ln.Addr().String()+" (health)")
		s.serving.Go(func() {
			if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				g.Log().Error("the server of --health-listen stopped", "error", err)
			}
		})
	}
	return addresses, nil
}

// count closes connections above the maximum.
func (s *Service) count(c net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew:
		if s.open.Add(1) > maxConnections {
			_ = c.Close()
		}
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	}
}

// Stop implements [gateway.Service].
func (s *Service) Stop(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	s.serving.Wait()
}
