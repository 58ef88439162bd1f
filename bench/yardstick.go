package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
)

// nothing is Envoy's rate limit service without limits.
type nothing struct {
	ratelimit.UnimplementedRateLimitServiceServer
}

// ShouldRateLimit implements [ratelimit.RateLimitServiceServer].
func (nothing) ShouldRateLimit(context.Context, *ratelimit.RateLimitRequest) (*ratelimit.RateLimitResponse, error) {
	return &ratelimit.RateLimitResponse{OverallCode: ratelimit.RateLimitResponse_OK}, nil
}

// yardstick is servers that only answer that a request is granted, on open ports.
type yardstick struct{ web, rpc net.Listener }

func listen(web, rpc string) (s yardstick, err error) {
	if s.web, err = net.Listen("tcp", web); err != nil {
		return s, err
	}
	if s.rpc, err = net.Listen("tcp", rpc); err != nil {
		return s, errors.Join(err, s.web.Close())
	}
	return s, nil
}

// run serves until a server fails. The one of HTTP has the bounds of Stint's.
func (s yardstick) run() error {
	ended := make(chan error, 2)
	web := &http.Server{
		Handler:     http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
		ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	go func() { ended <- web.Serve(s.web) }()
	g := grpc.NewServer()
	ratelimit.RegisterRateLimitServiceServer(g, nothing{})
	go func() { ended <- g.Serve(s.rpc) }()
	return <-ended
}

// asYardstick is the argument with which this program is the servers that only answer. They are a process apart, so
// that the CPU time of a server is only the server's.
const asYardstick = "yardstick"

// serveYardstick serves until the process is ended.
func serveYardstick() error {
	s, err := listen("127.0.0.1:0", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("ready: accepting connections on %s (HTTP), %s (gRPC)\n", s.web.Addr(), s.rpc.Addr())
	return s.run()
}
