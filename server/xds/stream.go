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
	// pingEvery is more than five minutes, which gRPC servers require between pings.
	pingEvery   = 6 * time.Minute
	pingTimeout = 20 * time.Second
)

// follow connects and answers pushes until an error. The first request names no version, so that the control plane
// sends its rules: if it restarted, it may count versions from the beginning.
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

// pushStream is the client's side of a stream.
type pushStream = grpc.BidiStreamingClient[discovery.DiscoveryRequest, discovery.DiscoveryResponse]

// received is a push, or the error of receiving it.
type received struct {
	push *discovery.DiscoveryResponse
	err  error
}

// receive reads the pushes of a stream until an error, or until ctx ends.
func receive(ctx context.Context, stream pushStream) <-chan received {
	pushes := make(chan received)
	go func() {
		for {
			push, err := stream.Recv()
			select {
			case pushes <- received{push, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return pushes
}

// answer answers pushes until an error, or until ctx ends. A push that comes while an answer is delayed is used, and
// answered instead.
func (c *Client) answer(ctx context.Context, stream pushStream) error {
	version, wait := "", pause{c.o.FirstRetry, c.o.LastRetry, 0}
	pushes := receive(ctx, stream)
	var reply *discovery.DiscoveryRequest
	var due <-chan time.Time // when a delayed reply is due
	for {
		select {
		case in := <-pushes:
			if in.err != nil {
				return in.err
			}
			reply, due = &discovery.DiscoveryRequest{TypeUrl: typeURL, ResponseNonce: in.push.GetNonce()}, nil
			again, why := c.take(in.push)
			if why != nil {
				reply.ErrorDetail = &status.Status{Code: int32(codes.InvalidArgument), Message: why.Error()}
			} else {
				version, wait.times = in.push.GetVersionInfo(), 0
			}
			reply.VersionInfo = version
			if again { // control planes answer a refusal by pushing the same rules at once
				due = time.After(wait.next())
				continue
			}
		case <-due:
			due = nil
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := stream.Send(reply); err != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// take uses pushed rules, or returns why it refuses them. again reports whether the last push was refused and was the
// same.
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
			c.o.Log.Error("the rules that the control plane pushed are wrong; the old rules stay in use", "version", push.GetVersionInfo(), "error", why)
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
			c.o.Log.Warn("the rules of --rls-xds cannot be saved for the next start", "file", c.keptPath(), "error", err)
		}
	}
	return false, nil
}
