package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/clientip"
	"github.com/stintdb/stint/clients/go/grpclimit"
	"github.com/stintdb/stint/clients/go/internal/servertest"
	"github.com/stintdb/stint/clients/go/stinttest"
)

const (
	check = "/grpc.health.v1.Health/Check"
	watch = "/grpc.health.v1.Health/Watch"
)

var address string

func TestMain(m *testing.M) { servertest.Main(m, &address) }

func connect(t *testing.T, address string, policy stint.Policy) *stint.Limiter {
	l := stint.Connect([]string{address}, policy, stint.Timeout(30*time.Second))
	t.Cleanup(func() { l.Close() })
	return l
}

// serve starts a gRPC server with the interceptors and returns a client of its health service.
func serve(t *testing.T, limits *grpclimit.Limits) healthpb.HealthClient {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(limits.Unary()), grpc.ChainStreamInterceptor(limits.Stream()))
	healthpb.RegisterHealthServer(server, health.NewServer())
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return healthpb.NewHealthClient(conn)
}

func unary(ctx context.Context, c healthpb.HealthClient) codes.Code {
	_, err := c.Check(ctx, &healthpb.HealthCheckRequest{})
	return status.Code(err)
}

func stream(ctx context.Context, c healthpb.HealthClient) codes.Code {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err == nil {
		_, err = s.Recv()
	}
	return status.Code(err)
}

var byIP = grpclimit.ByIP(clientip.Resolver{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})

func TestUnaryAndStream(t *testing.T) {
	limiter := connect(t, address, stint.FailClosed())
	for name, call := range map[string]func(context.Context, healthpb.HealthClient) codes.Code{"unary": unary, "stream": stream} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, grpclimit.New(limiter, t.Name(), stint.PerDay(2), byIP))
			for _, want := range []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted} {
				if got := call(t.Context(), c); got != want {
					t.Errorf("%v, want %v", got, want)
				}
			}
			other := metadata.AppendToOutgoingContext(t.Context(), "x-forwarded-for", "192.0.2.1")
			if got := call(other, c); got != codes.OK {
				t.Errorf("another client: %v", got)
			}
		})
	}
}

func TestDetails(t *testing.T) {
	c := serve(t, grpclimit.New(connect(t, address, stint.FailClosed()), t.Name(), stint.PerDay(1), grpclimit.Everybody))
	unary(t.Context(), c)
	_, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{})
	var retry *errdetails.RetryInfo
	var quota *errdetails.QuotaFailure
	for _, detail := range status.Convert(err).Details() {
		switch d := detail.(type) {
		case *errdetails.RetryInfo:
			retry = d
		case *errdetails.QuotaFailure:
			quota = d
		}
	}
	if wait := retry.GetRetryDelay().AsDuration(); wait <= 23*time.Hour || wait > 24*time.Hour {
		t.Errorf("retry after %v", wait)
	}
	if len(quota.GetViolations()) != 1 || quota.Violations[0].Subject != t.Name() {
		t.Errorf("violations: %v", quota)
	}
}

func TestOptions(t *testing.T) {
	limiter := connect(t, address, stint.FailClosed())
	limit := func(name string, key grpclimit.Key, options ...grpclimit.Option) healthpb.HealthClient {
		return serve(t, grpclimit.New(limiter, t.Name()+name, stint.PerDay(1), key, options...))
	}
	c := limit("skip", grpclimit.Everybody, grpclimit.Skip(grpclimit.SkipMethods(check)))
	if a, b, s1, s2 := unary(t.Context(), c), unary(t.Context(), c), stream(t.Context(), c), stream(t.Context(), c); a != codes.OK || b != codes.OK || s1 != codes.OK || s2 != codes.ResourceExhausted {
		t.Errorf("skipped: %v %v, not skipped: %v %v", a, b, s1, s2)
	}
	c = limit("method", grpclimit.ByMethod)
	if a, b := unary(t.Context(), c), stream(t.Context(), c); a != codes.OK || b != codes.OK {
		t.Errorf("by method: %v %v", a, b)
	}
	c = limit("metadata", grpclimit.ByMetadata("tenant"))
	tenant := func(name string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "tenant", name)
	}
	if a, b, again := unary(tenant("a"), c), unary(tenant("b"), c), unary(tenant("a"), c); a != codes.OK || b != codes.OK || again != codes.ResourceExhausted {
		t.Errorf("by metadata: %v %v %v", a, b, again)
	}
	long := strings.Repeat("x", 5000)
	if a, b, again := unary(tenant(long+"a"), c), unary(tenant(long+"b"), c), unary(tenant(long+"a"), c); a != codes.OK || b != codes.OK || again != codes.ResourceExhausted {
		t.Errorf("by long metadata: %v %v %v", a, b, again)
	}
	c = limit("negative", grpclimit.Everybody, grpclimit.Cost(func(context.Context, string) int64 { return -1 }))
	if got := unary(t.Context(), c); got != codes.Unavailable {
		t.Errorf("a negative cost: %v", got)
	}
	c = limit("cost", grpclimit.Everybody, grpclimit.Cost(func(_ context.Context, method string) int64 {
		if method == watch {
			return 2
		}
		return 0
	}))
	if free, dear := unary(t.Context(), c), stream(t.Context(), c); free != codes.OK || dear != codes.ResourceExhausted {
		t.Errorf("costs: %v %v", free, dear)
	}
	reported := make(chan string, 10)
	c = limit("shadow", grpclimit.Everybody, grpclimit.Shadow(func(_ context.Context, method string, _ stint.Result) { reported <- method }))
	if a, b := unary(t.Context(), c), unary(t.Context(), c); a != codes.OK || b != codes.OK || len(reported) != 1 || <-reported != check {
		t.Errorf("in the shadow: %v %v", a, b)
	}
	c = limit("messages", grpclimit.Everybody, grpclimit.EachMessage())
	if a, b := stream(t.Context(), c), stream(t.Context(), c); a != codes.OK || b != codes.ResourceExhausted {
		t.Errorf("each message: %v %v", a, b)
	}
}

func TestPolicyOfTheServer(t *testing.T) {
	for _, policy := range []stint.Policy{stint.FailOpen(), stint.FailClosed()} {
		c := serve(t, grpclimit.NewPolicy(connect(t, address, policy), "no such policy", byIP,
			grpclimit.Failed(func(_ context.Context, _ string, err error) {
				if errors.Is(err, stint.ErrUnavailable) {
					t.Error(err)
				}
			})))
		if got := unary(t.Context(), c); got != codes.Unavailable {
			t.Errorf("%v, a policy that does not exist: %v", policy, got)
		}
	}
}

// TestAnonymousCallers: callers without the metadata share one limit of a policy, which takes no empty id.
func TestAnonymousCallers(t *testing.T) {
	fake := stinttest.NewFake()
	fake.SetPolicy("api", stinttest.Rule{Key: "user:{}", Limit: stint.PerDay(1)})
	limiter := fake.Connect(stint.FailClosed())
	t.Cleanup(func() { limiter.Close() })
	c := serve(t, grpclimit.NewPolicy(limiter, "api", grpclimit.ByMetadata("tenant")))
	for _, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		if got := unary(t.Context(), c); got != want {
			t.Errorf("a caller without a tenant: %v, want %v", got, want)
		}
	}
	if got := unary(metadata.AppendToOutgoingContext(t.Context(), "tenant", "acme"), c); got != codes.OK {
		t.Errorf("a tenant: %v", got)
	}
}

func TestWithoutStint(t *testing.T) {
	nowhere := servertest.Reserved(t)
	for policy, want := range map[stint.Policy]codes.Code{stint.FailOpen(): codes.OK, stint.FailClosed(): codes.Unavailable} {
		c := serve(t, grpclimit.New(connect(t, nowhere, policy), "api", stint.PerDay(2), byIP))
		if got := unary(t.Context(), c); got != want {
			t.Errorf("%v: %v, want %v", policy, got, want)
		}
	}
}

func ExampleLimits() {
	limiter := stint.Connect([]string{address}, stint.FailOpen())
	defer limiter.Close()
	limits := grpclimit.New(limiter, "api", stint.PerMinute(100), grpclimit.ByIP(clientip.Resolver{}),
		grpclimit.Skip(grpclimit.SkipMethods(check)))
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(limits.Unary()), grpc.ChainStreamInterceptor(limits.Stream()))
	healthpb.RegisterHealthServer(server, health.NewServer())
	fmt.Println(len(server.GetServiceInfo()), "service")
	// Output: 1 service
}
