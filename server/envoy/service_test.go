package envoy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	kind "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stintdb/stint/internal/testtls"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/config"
)

// giveUp is how long a test waits for an event that must come. It is only reached if the test fails.
const giveUp = testwait.Limit

// expect sends a request and compares gRPC's status and message.
func (h *host) expect(ctx context.Context, client ratelimit.RateLimitServiceClient, in *ratelimit.RateLimitRequest, code codes.Code, says string) {
	h.Helper()
	_, err := client.ShouldRateLimit(ctx, in)
	if got := status.Convert(err); got.Code() != code || !strings.Contains(got.Message(), says) {
		h.Errorf("%s %q, want %s %q", got.Code(), got.Message(), code, says)
	}
}

func bearer(token string) context.Context {
	return metadata.AppendToOutgoingContext(context.Background(), "authorization", token)
}

// A request is made as a user, with the user's permissions.
func TestUsers(t *testing.T) {
	h := newHost(t, func(_ *config.Config, o *server.Options) {
		users, err := acl.New(acl.Settings{LogLength: 10})
		if err != nil {
			t.Fatal(err)
		}
		for name, rules := range map[string]string{
			"default": "reset >open:sesame", "envoy": "on >secret ~rls.shop:* +fw.acquire +rl.all", "reader": "on >secret ~rls.* +@read",
		} {
			if err := users.Set(name, strings.Fields(rules)); err != nil {
				t.Fatal(err)
			}
		}
		o.Users = users
	})
	client, in := h.client(), parse(t, "shop table=orders")
	h.expect(context.Background(), client, in, codes.Unauthenticated, "send a password in the metadata")
	h.expect(bearer("Basic secret"), client, in, codes.Unauthenticated, "must be: Bearer PASSWORD")
	h.expect(bearer("Bearer "), client, in, codes.Unauthenticated, "must be: Bearer PASSWORD")
	h.expect(bearer("Bearer envoy:wrong"), client, in, codes.Unauthenticated, "the password is wrong")
	h.expect(bearer("Bearer nobody:secret"), client, in, codes.Unauthenticated, "the password is wrong")
	h.expect(bearer("Bearer envoy:secret"), client, in, codes.OK, "")
	h.expect(bearer("Bearer envoy:secret"), client, parse(t, "shop 0@kind=mail"), codes.OK, "")
	h.expect(bearer("Bearer envoy:secret"), client, parse(t, "stint bucket=1"), codes.PermissionDenied, "No permissions to access a key")
	h.expect(bearer("Bearer reader:secret"), client, in, codes.PermissionDenied, "no permissions to run the 'fw.acquire' command")
	h.expect(bearer("Bearer envoy:secret"), client, parse(t, "shop unknown=1"), codes.OK, "") // needs no command
}

// Requests that cannot be answered get a status that Envoy can distinguish from a denial.
func TestErrors(t *testing.T) {
	h := newHost(t, nil)
	client := h.client()
	ctx := context.Background()
	h.expect(ctx, client, &ratelimit.RateLimitRequest{}, codes.InvalidArgument, "its domain is empty")
	h.expect(ctx, client, parse(t, "shop"), codes.InvalidArgument, "it has no descriptors")
	h.expect(ctx, client, parse(t, "shop"+strings.Repeat(" a=b", 65)), codes.InvalidArgument, "it has 65 descriptors")
	h.expect(ctx, client, parse(t, "shop 1000000000001@table=orders"), codes.InvalidArgument, "hits_addend")
	h.expect(ctx, client, parse(t, "shop table="+strings.Repeat("x", 5000)), codes.InvalidArgument, "max-key-size")
	h.expect(ctx, client, parse(t, "shop table="+strings.Repeat("x", maxMessageBytes)), codes.ResourceExhausted, "larger than max")
	h.expect(ctx, client, parse(t, "stint plan=ann"), codes.InvalidArgument, "no such policy")
	h.expect(ctx, client, parse(t, "stint plan=bob"), codes.InvalidArgument, "no such policy")
	if warning := "a proxy's request was not decided"; h.log.Count(warning) != 1 || !h.log.Has(`request="domain shop" error="ERR key: at most`) {
		t.Errorf("the reason is not in the log once:\n%s", &h.log)
	}
	// A limit that cannot be asked does not lift another limit's denial, wherever it stands.
	bucket := parse(t, "stint bucket=1")
	for range 2 {
		h.expect(ctx, client, bucket, codes.OK, "")
	}
	long := "window=" + strings.Repeat("x", 5000)
	for both, reason := range map[string]string{"stint bucket=1 plan=ann": "no such policy", "stint plan=ann bucket=1": "no such policy",
		"stint bucket=1 " + long: "max-key-size", "stint " + long + " bucket=1": "max-key-size"} {
		if got, err := client.ShouldRateLimit(ctx, parse(t, both)); err != nil || got.GetOverallCode() != ratelimit.RateLimitResponse_OVER_LIMIT {
			t.Errorf("%.40s: %v, %v", both, got, err)
		}
		h.expect(ctx, client, parse(t, strings.ReplaceAll(both, "bucket=1", "bucket=2,x=y")), codes.InvalidArgument, reason)
	}
	h.do("TB.ACQUIRE rls.shop:table=orders 5 1/s")
	h.expect(ctx, client, parse(t, "shop table=orders"), codes.FailedPrecondition, "WRONGTYPE")
	h.expect(ctx, client, parse(t, "shop free=1"), codes.OK, "")
	if _, err := client.ShouldRateLimit(metadata.AppendToOutgoingContext(ctx, "x", strings.Repeat("y", 2*maxHeaderBytes)), parse(t, "shop free=1")); err == nil {
		t.Error("header fields of any length are taken")
	}
	limited := parse(t, "shop table=orders")
	limited.Descriptors[0].Limit = &extension.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1}
	h.expect(ctx, client, limited, codes.InvalidArgument, "has no unit")
}

// A limit that comes with a request replaces the rule.
func TestOverrides(t *testing.T) {
	h := newHost(t, nil)
	client := h.client()
	for wire, want := range map[kind.RateLimitUnit]string{
		kind.RateLimitUnit_SECOND: "OK | OK 6/7 SECOND 1s", kind.RateLimitUnit_MONTH: "OK | OK 5/7 MONTH 420935s", kind.RateLimitUnit_YEAR: "OK | OK 5/7 YEAR 30228935s",
	} {
		in := parse(t, "shop free="+wire.String())
		in.Descriptors[0].Limit = &extension.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 7, Unit: wire}
		if wire != kind.RateLimitUnit_SECOND {
			in.HitsAddend = 2
		}
		out, err := client.ShouldRateLimit(context.Background(), in)
		if err != nil || show(out) != want {
			t.Errorf("%v %v, want %s", show(out), err, want)
		}
	}
}

// With --rls-headers, the client sees the limit that is nearest to being used up.
func TestHeaders(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) { cfg.RLSHeaders = true })
	for _, tc := range []struct{ request, want string }{
		{"shop table=orders kind=mail", "RateLimit-Limit: 3, RateLimit-Remaining: 2, RateLimit-Reset: 75335"},
		{"shop other=1", ""},
		{"shop kind=mail banned=1", "RateLimit-Limit: 0, RateLimit-Remaining: 0, RateLimit-Reset: 35"},
		{"shop 3@kind=mail", "RateLimit-Limit: 3, RateLimit-Remaining: 0, RateLimit-Reset: 75335, Retry-After: 75335"},
		{"shop 0@kind=mail", "RateLimit-Limit: 3, RateLimit-Remaining: 0, RateLimit-Reset: 75335, Retry-After: 75335"},
	} {
		out, err := h.client().ShouldRateLimit(context.Background(), parse(t, tc.request))
		if err != nil {
			t.Fatal(err)
		}
		var fields []string
		for _, f := range out.ResponseHeadersToAdd {
			fields = append(fields, f.Key+": "+f.Value)
		}
		if got := strings.Join(fields, ", "); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.request, got, tc.want)
		}
	}
	h = newHost(t, func(cfg *config.Config, _ *server.Options) { cfg.RLSHeaders, cfg.RateLimitFields = true, "draft-11" })
	out, err := h.client().ShouldRateLimit(context.Background(), parse(t, "shop table=orders kind=mail"))
	if err != nil || len(out.ResponseHeadersToAdd) != 2 || out.ResponseHeadersToAdd[0].Value != `"default";q=3;w=86400` || out.ResponseHeadersToAdd[1].Value != `"default";r=2;t=75335` {
		t.Errorf("in draft-11: %v, %v", out, err)
	}
}

// A policy with a limit that warns is among the fields, even if another limit is nearer to being used up.
func TestHeadersOfWarnings(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) { cfg.RLSHeaders, cfg.RateLimitFields = true, "draft-11" })
	h.do("RL.POLICY SET plans FW plan:{} 5 @day WARN 40% TB burst:{} 3 1/h")
	h.do("RL.POLICY SET fields FW {tenant}:{} 500 @day WARN 1%")
	for i, want := range []string{`"plans";r=2`, `"plans";r=1;stint-warn`, `"plans";r=0;stint-warn, "fields";r=495;stint-warn`, `"plans";r=0;stint-warn`} {
		request := "stint plan=x"
		if i == 2 {
			request = "stint plan=x 5@tenant=acme,plan=x"
		}
		out, err := h.client().ShouldRateLimit(context.Background(), parse(t, request))
		if err != nil || len(out.ResponseHeadersToAdd) < 2 || out.ResponseHeadersToAdd[1].Value != want {
			t.Errorf("request %d: %v, %v, want %s", i, out, err, want)
		}
	}
}

// New rules are used for the next request; a file with a mistake changes nothing.
func TestChangedRules(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rule := func(n string) string {
		return "domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, requests_per_unit: " + n + "}\n"
	}
	write(rule("5"))
	h := newHost(t, func(cfg *config.Config, _ *server.Options) { cfg.RLSConfig = dir })
	client := h.client()
	limit := func() uint32 {
		out, err := client.ShouldRateLimit(context.Background(), parse(t, "d 0@k=v"))
		if err != nil {
			t.Fatal(err)
		}
		return out.Statuses[0].CurrentLimit.RequestsPerUnit
	}
	await := func(want uint32) {
		t.Helper()
		testwait.Until(t, fmt.Sprintf("the limit is %d", want), func() bool { return limit() == want })
	}
	await(5)
	write(rule("600"))
	await(600)
	write(rule("many"))
	write(rule("7000"))
	await(7000)
}

// Health checks need no password, and end with the server.
func TestHealth(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) {
		s, _ := config.Lookup("requirepass")
		if err := s.Set(cfg, "secret"); err != nil {
			t.Fatal(err)
		}
	})
	client := grpc_health_v1.NewHealthClient(h.dial())
	for _, name := range checked {
		out, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: name})
		if err != nil || out.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v %v", name, out, err)
		}
	}
	if _, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: "other"}); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
	watch, err := client.Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := watch.Recv(); err != nil || out.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Error(out, err)
	}
	go func() { _ = h.stop() }()
	if out, err := watch.Recv(); err != nil || out.Status != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Error(out, err)
	}
}

// With TLS and --tls-client-ca, only clients with a certificate are served.
func TestTLS(t *testing.T) {
	c := testtls.New(t)
	h := newHost(t, func(cfg *config.Config, _ *server.Options) {
		cfg.GRPCListen, cfg.GRPCTLSListen = nil, []string{"127.0.0.1:0"}
		cfg.TLSCert, cfg.TLSKey, cfg.TLSClientCA = c.Cert, c.Key, c.CA
	})
	for _, tc := range []struct {
		certificates []tls.Certificate
		code         codes.Code
	}{{[]tls.Certificate{c.Client}, codes.OK}, {nil, codes.Unavailable}} {
		creds := credentials.NewTLS(&tls.Config{RootCAs: c.Pool, Certificates: tc.certificates})
		client := ratelimit.NewRateLimitServiceClient(h.dial(grpc.WithTransportCredentials(creds)))
		if _, err := client.ShouldRateLimit(context.Background(), parse(t, "shop table=orders")); status.Code(err) != tc.code {
			t.Errorf("%d certificates: %v, want %s", len(tc.certificates), err, tc.code)
		}
	}
}

// In protected mode, clients from other machines are only accepted at addresses that require a certificate.
func TestProtectedMode(t *testing.T) {
	elsewhere, c := otherAddress(t), testtls.New(t)
	shows := credentials.NewTLS(&tls.Config{RootCAs: c.Pool, Certificates: []tls.Certificate{c.Client}, ServerName: "127.0.0.1"})
	for name, tc := range map[string]struct {
		ca    string
		plain bool
		creds credentials.TransportCredentials
		want  codes.Code
	}{
		"a certificate":        {c.CA, false, shows, codes.OK},
		"no certificate":       {c.CA, false, credentials.NewTLS(&tls.Config{RootCAs: c.Pool, ServerName: "127.0.0.1"}), codes.Unavailable},
		"none is asked for":    {"", false, shows, codes.Unavailable},
		"another port, no TLS": {c.CA, true, insecure.NewCredentials(), codes.Unavailable},
	} {
		h := newHost(t, func(cfg *config.Config, _ *server.Options) {
			cfg.GRPCListen, cfg.GRPCTLSListen = []string{"0.0.0.0:0"}, []string{"0.0.0.0:0"}
			cfg.TLSCert, cfg.TLSKey, cfg.TLSClientCA = c.Cert, c.Key, tc.ca
		})
		at := h.addresses[len(h.addresses)-1] // with TLS
		if tc.plain {
			at = h.addresses[len(h.addresses)-2]
		}
		_, port, _ := net.SplitHostPort(at)
		h.addr = net.JoinHostPort(elsewhere, port)
		client := ratelimit.NewRateLimitServiceClient(h.dial(grpc.WithTransportCredentials(tc.creds)))
		if _, err := client.ShouldRateLimit(context.Background(), parse(t, "shop table=orders")); status.Code(err) != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// otherAddress returns one of this machine's addresses that is not a loopback address.
func otherAddress(t *testing.T) string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, is := a.(*net.IPNet); is && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address besides the loopback's")
	return ""
}
