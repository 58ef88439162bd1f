package main

import (
	"context"
	"fmt"

	descriptor "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// grpcConnections is the number of connections of all workers; Envoy opens one for each of its threads.
const grpcConnections = 4

// grpcAskers asks Envoy's rate limit service; workers share connections, as Envoy's requests do.
func grpcAskers(address string) func(int) (asker, error) {
	clients := make([]ratelimit.RateLimitServiceClient, grpcConnections)
	return func(worker int) (asker, error) {
		at := &clients[worker%grpcConnections]
		if *at == nil {
			c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				return nil, err
			}
			*at = ratelimit.NewRateLimitServiceClient(c)
		}
		client := *at
		ask := func(id int) error {
			entry := &descriptor.RateLimitDescriptor_Entry{Key: "id", Value: fmt.Sprintf("%012d", id)}
			in := &ratelimit.RateLimitRequest{Domain: "doors", Descriptors: []*descriptor.RateLimitDescriptor{{Entries: []*descriptor.RateLimitDescriptor_Entry{entry}}}}
			ctx, cancel := context.WithTimeout(context.Background(), giveUp)
			defer cancel()
			out, err := client.ShouldRateLimit(ctx, in)
			if err == nil && out.GetOverallCode() != ratelimit.RateLimitResponse_OK {
				err = fmt.Errorf("answered %s", out.GetOverallCode())
			}
			return err
		}
		return ask, ask(worker) // connected
	}
}
