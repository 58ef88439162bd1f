package main

import (
	"context"
	"fmt"

	descriptor "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// grpcConnections is the number of connections of all senders; Envoy opens one for each of its threads.
const grpcConnections = 4

// grpcSenders ask Envoy's rate limit service about an id; they share connections, as Envoy's requests do.
func grpcSenders(address string) connector {
	clients := make([]ratelimit.RateLimitServiceClient, grpcConnections)
	return func(ctx context.Context, number int) (sender, error) {
		at := &clients[number%grpcConnections]
		if *at == nil {
			c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				return nil, err
			}
			context.AfterFunc(ctx, func() { _ = c.Close() })
			*at = ratelimit.NewRateLimitServiceClient(c)
		}
		client := *at
		send := func(ids []int, to *tally) error {
			for _, id := range ids {
				entry := &descriptor.RateLimitDescriptor_Entry{Key: "id", Value: fmt.Sprintf("%012d", id)}
				in := &ratelimit.RateLimitRequest{Domain: "doors", Descriptors: []*descriptor.RateLimitDescriptor{{Entries: []*descriptor.RateLimitDescriptor_Entry{entry}}}}
				bounded, cancel := context.WithTimeout(ctx, loadTimeout)
				out, err := client.ShouldRateLimit(bounded, in)
				cancel()
				if err != nil {
					return err
				}
				if out.GetOverallCode() != ratelimit.RateLimitResponse_OK {
					return fmt.Errorf("answered %s", out.GetOverallCode())
				}
				to.granted++
			}
			return nil
		}
		return send, send([]int{number}, &tally{}) // connected
	}
}
