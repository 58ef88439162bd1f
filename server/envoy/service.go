// Package envoy serves Envoy's rate limit service, version 3, and health checks over gRPC. It is a [gateway.Service].
// It listens, finds the user of a request, and translates; package rls decides.
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
	"github.com/stintdb/stint/server/ratefields"
	"github.com/stintdb/stint/server/rls"
	"github.com/stintdb/stint/server/xds"
)

// Service is the server of --grpc-listen and --grpc-tls-listen.
type Service struct {
	ratelimit.UnimplementedRateLimitServiceServer

	gateway   *gateway.Gateway
	rules     atomic.Pointer[rls.InUse]  // nil before Start; metrics may ask before
	control   atomic.Pointer[xds.Client] // the control plane that pushes rules; nil without --rls-xds
	directory *rls.Directory             // the files of rules; nil without --rls-config
	now       func() time.Time           // time.Now if nil
	headers   bool                       // replies have header fields for the client
	styles    ratefields.Styles          // the styles of these fields
	health    *healthServer
	grpc      *grpc.Server
	kuadrant  kuadrant
	serving   sync.WaitGroup
	requests  requests
	quotas    quotas
	stop      context.CancelFunc // stops background work
}

// The limits of a connection. Together with --max-clients they limit the memory of all connections.
const (
	maxMessageBytes = 64 << 10
	maxStreams      = 250  // requests in progress on one connection
	maxRequests     = 4096 // requests in progress on all connections
	maxWatchers     = 64   // clients that watch the health
	maxHeaderBytes  = 16 << 10
	minPingTime     = 10 * time.Second // between two pings of a client
	pingTime        = time.Minute      // between two of our pings; a connection that does not answer is closed
	pingTimeout     = 20 * time.Second
	bufferBytes     = 16 << 10
)

// pollEvery is how often the files of rules and the server's readiness are checked.
const pollEvery = time.Second

// Start implements [gateway.Service].
func (s *Service) Start(g *gateway.Gateway) (addresses []string, err error) {
	cfg := g.Config()
	s.gateway = g
	if err := s.openRules(cfg); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.quotas.start(s, ctx)
	listeners, addresses, err := g.Listen(gateway.Addresses{All: cfg.GRPCListen, Setting: "--grpc-listen", Shown: "gRPC"},
		gateway.Addresses{All: cfg.GRPCTLSListen, Setting: "--grpc-tls-listen", Shown: "gRPC, TLS", Protocols: []string{"h2"}, Certified: cfg.TLSClientCA != ""})
	if err != nil {
		return nil, err
	}
	s.headers, s.styles, s.health = cfg.RLSHeaders, cfg.RateLimitStyles(ratefields.Draft6), newHealthServer(g)
	s.requests.most.Store(maxRequests)
	s.requests.timeout = func() time.Duration { return g.Config().CommandTimeout }
	s.grpc = grpc.NewServer(
		grpc.InTapHandle(s.requests.begin),
		grpc.Creds(connections{}), grpc.ConnectionTimeout(cfg.AuthTimeout),
		grpc.MaxRecvMsgSize(maxMessageBytes), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ReadBufferSize(bufferBytes), grpc.WriteBufferSize(bufferBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingTime, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: cfg.IdleTimeout, Time: pingTime, Timeout: pingTimeout}),
		grpc.WaitForHandlers(true), grpc.ForceServerCodecV2(newCodec()),
	)
	ratelimit.RegisterRateLimitServiceServer(s.grpc, s)
	s.kuadrant.Service = s
	s.grpc.RegisterService(&kuadrantMethods, &s.kuadrant)
	quota.RegisterRateLimitQuotaServiceServer(s.grpc, &s.quotas)
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	if s.now == nil {
		s.now = time.Now
	}
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
	if control := s.control.Load(); control != nil {
		s.serving.Go(func() { control.Run(ctx) })
	}
}

// Stop implements [gateway.Service].
func (s *Service) Stop(ctx context.Context) {
	s.stop()
	s.kuadrant.held.stop()
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

// poll reads the rules again when their files change, and reports readiness to clients that watch it.
func (s *Service) poll(ctx context.Context) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if s.directory != nil {
				s.reload()
			}
			s.health.update()
		}
	}
}
