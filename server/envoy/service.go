// Package envoy answers requests of Envoy's rate limit service, version 3, over gRPC, and of gRPC's health checks. It is a
// [gateway.Service]. Package rls decides; this one listens, finds the user of a request, and translates.
package envoy

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	quota "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/rls"
)

// Service is the server of --grpc-listen and --grpc-tls-listen.
type Service struct {
	ratelimit.UnimplementedRateLimitServiceServer

	gateway  *gateway.Gateway
	rules    atomic.Pointer[rls.Directory] // nil before Start; metrics ask at any time
	now      func() time.Time              // of limits that grant nothing; time.Now if nil
	headers  bool                          // answers carry header fields for the client
	health   *healthServer
	grpc     *grpc.Server
	serving  sync.WaitGroup
	requests requests // under way
	quotas   quotas
	stop     context.CancelFunc // of what runs beside the requests
}

// The bounds of a connection. Together with --max-clients they bound what all of them may hold.
const (
	maxMessageBytes = 64 << 10
	maxStreams      = 250  // requests at once on one connection
	maxRequests     = 4096 // and on all
	maxWatchers     = 64   // of health
	maxHeaderBytes  = 16 << 10
	minPingTime     = 10 * time.Second // between two pings of a client
	pingTime        = time.Minute      // between two of ours, without an answer to which a connection is closed
	pingTimeout     = 20 * time.Second
	bufferBytes     = 16 << 10
)

// pollEvery is the time between two looks at the files of rules, and at whether this server is ready.
const pollEvery = time.Second

// Start implements [gateway.Service].
func (s *Service) Start(g *gateway.Gateway) (addresses []string, err error) {
	cfg := g.Config()
	rules, err := rls.Open(cfg.RLSConfig)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.quotas.start(s, ctx)
	s.rules.Store(rules) // from now on metrics look
	listeners, addresses, err := g.Listen(gateway.Addresses{All: cfg.GRPCListen, Setting: "--grpc-listen", Shown: "gRPC"},
		gateway.Addresses{All: cfg.GRPCTLSListen, Setting: "--grpc-tls-listen", Shown: "gRPC, TLS", Protocols: []string{"h2"}})
	if err != nil {
		return nil, err
	}
	s.gateway, s.headers, s.health = g, cfg.RLSHeaders, newHealthServer(g)
	s.requests.most.Store(maxRequests)
	s.requests.timeout = func() time.Duration { return g.Config().CommandTimeout }
	s.grpc = grpc.NewServer(
		grpc.InTapHandle(s.requests.begin),
		grpc.Creds(connections{}), grpc.ConnectionTimeout(cfg.AuthTimeout),
		grpc.MaxRecvMsgSize(maxMessageBytes), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ReadBufferSize(bufferBytes), grpc.WriteBufferSize(bufferBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingTime, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: cfg.IdleTimeout, Time: pingTime, Timeout: pingTimeout}),
		grpc.WaitForHandlers(true),
	)
	ratelimit.RegisterRateLimitServiceServer(s.grpc, s)
	quota.RegisterRateLimitQuotaServiceServer(s.grpc, &s.quotas)
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	if s.now == nil {
		s.now = time.Now
	}
	s.logRules()
	s.serve(ctx, listeners)
	return addresses, nil
}

func (s *Service) serve(ctx context.Context, listeners []net.Listener) {
	for _, ln := range listeners {
		s.serving.Go(func() {
			if err := s.grpc.Serve(ln); err != nil {
				s.gateway.Log().Error("the server of --grpc-listen stopped", "error", err)
			}
		})
	}
	s.serving.Go(func() { s.poll(ctx) })
}

// Stop implements [gateway.Service].
func (s *Service) Stop(ctx context.Context) {
	s.stop()
	s.health.Shutdown()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.grpc.GracefulStop()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		s.grpc.Stop()
		<-ended
	}
	s.serving.Wait()
}

// poll reads the rules again when their files have changed, and reports readiness to those that watch it.
func (s *Service) poll(ctx context.Context) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.reload()
			s.health.update()
		}
	}
}

func (s *Service) reload() {
	changed, err := s.rules.Load().Reload()
	if err != nil {
		s.gateway.Log().Error("the new rules of --rls-config are refused, the old ones stay in use", "error", err)
	}
	if changed {
		s.logRules()
	}
}

func (s *Service) logRules() {
	domains, rules := s.rules.Load().Rules().Counts()
	if domains == 0 {
		s.gateway.Log().Warn("there are no rules: every request of Envoy is granted; put files NAME.yaml there", "rls_config", s.gateway.Config().RLSConfig)
		return
	}
	s.gateway.Log().Info("rules of Envoy's rate limit service are in use", "domains", domains, "rules", rules)
}
