package envoy

import (
	"context"
	"sync/atomic"
	"time"

	quota "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// requests limits the requests in progress on all connections, and the time that each may take. gRPC only limits the
// requests of one connection, and starts a goroutine for each as soon as it has the header.
type requests struct {
	count   atomic.Int64
	most    atomic.Int64
	timeout func() time.Duration
}

// begin is a [tap.ServerInHandle]. It counts a request from its beginning until its context ends, and refuses it if too
// many requests are under way.
func (r *requests) begin(ctx context.Context, info *tap.Info) (context.Context, error) {
	switch info.FullMethodName {
	case grpc_health_v1.Health_Watch_FullMethodName, quota.RateLimitQuotaService_StreamRateLimitQuotas_FullMethodName:
		return ctx, nil // a stream without end; healthServer and quotas limit those
	}
	if most := r.most.Load(); r.count.Add(1) > most {
		r.count.Add(-1)
		return ctx, status.Errorf(codes.Unavailable, "%d requests are in progress, the maximum: try again shortly", most)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	context.AfterFunc(ctx, func() {
		cancel()
		r.count.Add(-1)
	})
	return ctx, nil
}
