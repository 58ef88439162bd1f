// Package httpapi answers requests over HTTP as commands: /v1/check and its kind in JSON, /v1/auth for proxies that ask
// before they forward a request, and Upstash's REST dialect of Redis. It is a [gateway.Service]; openapi.json describes
// it.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/ratefields"
)

// Service is the server of --http-listen and --http-tls-listen.
type Service struct {
	gateway *gateway.Gateway
	allowed allowed
	styles  ratefields.Styles

	canonical map[string]string // the names of their fields as net/http has them
	http      *http.Server
	serving   sync.WaitGroup

	counts    map[string]*counts // by path, those of routes
	elsewhere counts             // of other paths
}

// The bounds of a request. Those of time are settings.
const (
	maxHeaderBytes = 16 << 10
	slopBytes      = 4 << 10 // that net/http adds to its bound of a header
	maxBodyBytes   = 1 << 20
)

// Start implements [gateway.Service].
func (s *Service) Start(g *gateway.Gateway) (addresses []string, err error) {
	cfg := g.Config()
	listeners, addresses, err := g.Listen(gateway.Addresses{All: cfg.HTTPListen, Setting: "--http-listen", Shown: "HTTP"},
		gateway.Addresses{All: cfg.HTTPTLSListen, Setting: "--http-tls-listen", Shown: "HTTPS", Protocols: []string{"http/1.1"}})
	if err != nil {
		return nil, err
	}
	s.counts = map[string]*counts{}
	for path := range routes {
		s.counts[path] = new(counts)
	}
	s.gateway, s.styles = g, cfg.RateLimitStyles(ratefields.Draft10)
	s.canonical = map[string]string{}
	for _, field := range s.styles.Fields() {
		s.canonical[field] = http.CanonicalHeaderKey(field)
	}
	s.allowed = allowed{hosts: cfg.HTTPHosts, origins: cfg.HTTPOrigins, exposed: strings.Join(append(s.styles.Fields(), "Retry-After"), ", ")}
	s.http = &http.Server{
		Handler: s, ErrorLog: slog.NewLogLogger(g.Log().Handler(), slog.LevelDebug), MaxHeaderBytes: maxHeaderBytes - slopBytes,
		ReadTimeout: cfg.CommandTimeout, WriteTimeout: cfg.CommandTimeout + cfg.OutputTimeout, IdleTimeout: longestIdle, ConnContext: withConn,
		Protocols: new(http.Protocols),
	}
	s.http.Protocols.SetHTTP1(true)
	for _, ln := range listeners {
		s.serving.Go(func() {
			if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				g.Log().Error("the server of --http-listen stopped", "error", err)
			}
		})
	}
	return addresses, nil
}

// longestIdle is the time without requests after which a connection is closed; proxies keep theirs for a minute or
// less.
const longestIdle = 5 * time.Minute

// Stop implements [gateway.Service].
func (s *Service) Stop(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	s.serving.Wait()
}

type connKey struct{}

// withConn keeps the connection in the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, gateway.ConnOf(c))
}

func connOf(r *http.Request) *gateway.Conn { return r.Context().Value(connKey{}).(*gateway.Conn) }
