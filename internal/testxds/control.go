// Package testxds is a control plane for tests, which pushes rules of Envoy's rate limit service and notes the answers.
package testxds

import (
	"fmt"
	"net"
	"sync"
	"testing"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	config "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/stintdb/stint/internal/testwait"
)

// TypeURL is the type of the rules.
const TypeURL = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig"

// Control is a control plane.
type Control struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	Address string
	Repeat  bool // a refused push comes again at once, as from go-control-plane

	t        testing.TB
	server   *grpc.Server
	mu       sync.Mutex
	push     *discovery.DiscoveryResponse // the newest; nil before the first
	pushes   int
	changed  chan struct{} // closed by the next push
	requests []*discovery.DiscoveryRequest
}

// Start starts one at an address: "127.0.0.1:0" for any port, or one of testserver.ReserveAddress if another one will
// listen there later. The test's end stops it.
func Start(t testing.TB, address string, options ...grpc.ServerOption) *Control {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c := &Control{Address: ln.Addr().String(), t: t, server: grpc.NewServer(options...), changed: make(chan struct{})}
	discovery.RegisterAggregatedDiscoveryServiceServer(c.server, c)
	go func() { _ = c.server.Serve(ln) }()
	t.Cleanup(c.server.Stop)
	return c
}

// Stop ends it, and all streams.
func (c *Control) Stop() { c.server.Stop() }

// Push sends rules to all streams, and to those to come. It returns their nonce.
func (c *Control) Push(all ...*config.RateLimitConfig) (nonce string) {
	resources := make([]*anypb.Any, len(all))
	for i, r := range all {
		packed, err := anypb.New(r)
		if err != nil {
			c.t.Fatal(err)
		}
		resources[i] = packed
	}
	return c.PushAny(TypeURL, resources...)
}

// PushAny is Push of any resources.
func (c *Control) PushAny(typeURL string, resources ...*anypb.Any) (nonce string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pushes++
	nonce = fmt.Sprint("nonce ", c.pushes)
	c.push = &discovery.DiscoveryResponse{VersionInfo: fmt.Sprint("version ", c.pushes), TypeUrl: typeURL, Nonce: nonce, Resources: resources}
	close(c.changed)
	c.changed = make(chan struct{})
	return nonce
}

// Answer waits for the answer to a push.
func (c *Control) Answer(nonce string) *discovery.DiscoveryRequest {
	c.t.Helper()
	var found *discovery.DiscoveryRequest
	testwait.Until(c.t, "the push is answered", func() bool {
		for _, r := range c.Requests() {
			if r.GetResponseNonce() == nonce {
				found = r
			}
		}
		return found != nil
	})
	return found
}

// Requests are all that came, the first of each stream among them.
func (c *Control) Requests() []*discovery.DiscoveryRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*discovery.DiscoveryRequest(nil), c.requests...)
}

// StreamAggregatedResources implements [discovery.AggregatedDiscoveryServiceServer].
func (c *Control) StreamAggregatedResources(stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	came := make(chan *discovery.DiscoveryRequest)
	go func() {
		defer close(came)
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.requests = append(c.requests, r)
			c.mu.Unlock()
			select {
			case came <- r:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	if _, is := <-came; !is {
		return nil
	}
	sent := ""
	for {
		c.mu.Lock()
		push, changed := c.push, c.changed
		c.mu.Unlock()
		if push != nil && push.GetNonce() != sent {
			sent = push.GetNonce()
			if err := stream.Send(push); err != nil {
				return err
			}
		}
		select {
		case r, is := <-came:
			if !is {
				return nil
			}
			if c.Repeat && r.GetErrorDetail() != nil {
				sent = ""
			}
		case <-changed:
		}
	}
}
