package envoy

import (
	"context"
	"sync/atomic"

	quota "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/stintdb/stint/server/gateway"
)

// healthServer answers gRPC's health checks by whether the server is ready. It asks for no password.
type healthServer struct {
	*health.Server
	gateway  *gateway.Gateway
	watchers atomic.Int64
}

// checked are the names that health checks may ask for; "" is the server as a whole.
var checked = []string{"", ratelimit.RateLimitService_ServiceDesc.ServiceName, quota.RateLimitQuotaService_ServiceDesc.ServiceName, kuadrantService}

func newHealthServer(g *gateway.Gateway) *healthServer {
	h := &healthServer{Server: health.NewServer(), gateway: g}
	h.update()
	return h
}

// update sends the state to clients that watch it.
func (h *healthServer) update() {
	state := grpc_health_v1.HealthCheckResponse_SERVING
	if h.gateway.Ready() != nil {
		state = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	for _, name := range checked {
		h.SetServingStatus(name, state)
	}
}

// Check implements [grpc_health_v1.HealthServer].
func (h *healthServer) Check(ctx context.Context, in *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	h.update()
	return h.Server.Check(ctx, in)
}

// Watch implements [grpc_health_v1.HealthServer].
func (h *healthServer) Watch(in *grpc_health_v1.HealthCheckRequest, out grpc_health_v1.Health_WatchServer) error {
	defer h.watchers.Add(-1)
	if h.watchers.Add(1) > maxWatchers {
		return status.Errorf(codes.ResourceExhausted, "%d clients watch the health of this server, the maximum: use Check", maxWatchers)
	}
	return h.Server.Watch(in, out)
}
