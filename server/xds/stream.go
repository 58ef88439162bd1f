package xds

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/stintdb/stint/server/rls"
)

const (
	hashBytes = sha256.Size
	// pingEvery is longer than the five minutes that servers of gRPC require between pings.
	pingEvery   = 6 * time.Minute
	pingTimeout = 20 * time.Second
)

// follow connects and answers pushes, until an error. The first request names no version: a control plane that has started again may count
// its versions from the beginning, and is to send its rules.
func (c *Client) follow(ctx context.Context) error {
	secure, err := c.o.TLS.config()
	if err != nil {
		return err
	}
	creds := insecure.NewCredentials()
	if secure != nil {
		creds = credentials.NewTLS(secure)
	}
	conn, err := grpc.NewClient(c.o.Address, grpc.WithTransportCredentials(creds), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(rls.MaxTotalBytes)), grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingTimeout}))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(&discovery.DiscoveryRequest{TypeUrl: typeURL, Node: &core.Node{Id: c.o.Node, UserAgentName: "stint"}}); err != nil {
		return err
	}
	c.Connected.Store(true)
	defer c.Connected.Store(false)
	return c.answer(ctx, stream)
}

// answer answers pushes until an error.
func (c *Client) answer(ctx context.Context, stream grpc.BidiStreamingClient[discovery.DiscoveryRequest, discovery.DiscoveryResponse]) error {
	version, wait := "", pause{c.o.FirstRetry, c.o.LastRetry, 0}
	for {
		push, err := stream.Recv()
		if err != nil {
			return err
		}
		reply := &discovery.DiscoveryRequest{TypeUrl: typeURL, ResponseNonce: push.GetNonce()}
		again, why := c.take(push)
		if why != nil {
			reply.ErrorDetail = &status.Status{Code: int32(codes.InvalidArgument), Message: why.Error()}
		} else {
			version, wait.times = push.GetVersionInfo(), 0
		}
		if again { // control planes answer a refusal at once, with the same
			sleep(ctx, wait.next())
		}
		reply.VersionInfo = version
		if err := stream.Send(reply); err != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// take has pushed rules used, or returns why not. Again is whether the same were refused before.
func (c *Client) take(push *discovery.DiscoveryResponse) (again bool, why error) {
	rules, why := rulesOf(push.GetResources())
	if push.GetTypeUrl() != typeURL {
		why = fmt.Errorf("the type is %.200q, not %s", push.GetTypeUrl(), typeURL)
	}
	if why != nil {
		hash := hashOf(push)
		again, c.refused = hash == c.refused, hash
		c.Refused.Add(1)
		if !again {
			c.o.Log.Error("the rules that the control plane pushed are refused, the old ones stay in use", "version", push.GetVersionInfo(), "error", why)
		}
		return again, why
	}
	c.refused = [hashBytes]byte{}
	c.Replace(rules)
	c.since.Store(time.Now().UnixNano())
	c.Accepted.Add(1)
	if c.o.Changed != nil {
		c.o.Changed()
	}
	if c.o.Dir != "" {
		if err := writeKept(c.keptPath(), push); err != nil {
			c.o.Log.Warn("the rules of --rls-xds cannot be kept for the next start", "file", c.keptPath(), "error", err)
		}
	}
	return false, nil
}
