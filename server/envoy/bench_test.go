package envoy

import (
	"context"
	"net"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// empty grants everything.
type empty struct {
	ratelimit.UnimplementedRateLimitServiceServer
}

func (empty) ShouldRateLimit(context.Context, *ratelimit.RateLimitRequest) (*ratelimit.RateLimitResponse, error) {
	return &ratelimit.RateLimitResponse{OverallCode: ratelimit.RateLimitResponse_OK}, nil
}

// BenchmarkShouldRateLimit compares the service with one that answers without looking, over the same connections.
func BenchmarkShouldRateLimit(b *testing.B) {
	in := parse(b, "shop table=orders")
	two := parse(b, "stint bucket=1 window=1")
	h := newHost(b, nil)
	plain := grpc.NewServer()
	ratelimit.RegisterRateLimitServiceServer(plain, empty{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = plain.Serve(ln) }()
	b.Cleanup(plain.Stop)
	for _, of := range []struct {
		name, addr string
		in         *ratelimit.RateLimitRequest
	}{{"empty", ln.Addr().String(), in}, {"stint", h.addr, in}, {"two", h.addr, two}} {
		b.Run(of.name, func(b *testing.B) {
			c, err := grpc.NewClient(of.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			client := ratelimit.NewRateLimitServiceClient(c)
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := client.ShouldRateLimit(context.Background(), of.in); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
