package envoy

import (
	"context"
	"strings"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	config "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/stintdb/stint/internal/testxds"
	"github.com/stintdb/stint/server"
	settings "github.com/stintdb/stint/server/config"
)

// pushed is a resource with one rule for a key.
func pushed(domain string, limit uint32) *config.RateLimitConfig {
	return &config.RateLimitConfig{Name: domain, Domain: domain, Descriptors: []*config.RateLimitDescriptor{
		{Key: "k", RateLimit: &config.RateLimitPolicy{Unit: config.RateLimitUnit_DAY, RequestsPerUnit: limit}},
	}}
}

func newPushed(t *testing.T, wait bool) (*testxds.Control, *host) {
	control := testxds.Start(t, "127.0.0.1:0")
	return control, newHost(t, func(cfg *settings.Config, _ *server.Options) {
		cfg.RLSConfig, cfg.RLSXDS, cfg.RLSXDSWait = "", control.Address, wait
	})
}

// A server is ready as soon as there are rules, and uses new rules for the next request. Refused rules leave the limits
// and their counts as they are.
func TestPushedRules(t *testing.T) {
	control, h := newPushed(t, true)
	client, health := h.client(), grpc_health_v1.NewHealthClient(h.dial())
	expectState := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		out, err := health.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
		if err != nil || out.Status != want || (h.server.Ready() == nil) != (want == grpc_health_v1.HealthCheckResponse_SERVING) {
			t.Error(out, err, h.server.Ready())
		}
	}
	expectState(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	h.expect(context.Background(), client, parse(t, "d k=v"), codes.Unavailable, "there are no rules yet: the control plane of --rls-xds ("+control.Address+") has pushed none")
	if _, err := h.kuadrant().Check(context.Background(), parse(t, "d k=v")); err == nil {
		t.Error("Kuadrant's call is answered")
	}
	control.Answer(control.Push(pushed("d", 2)))
	expectState(grpc_health_v1.HealthCheckResponse_SERVING)
	h.play([]step{{"d k=v", "OK | OK 1/2 DAY 75335s"}, {"d k=v", "OK | OK 0/2 DAY 75335s"}})
	control.Answer(control.Push(pushed("d", 2), pushed("d", 3)))
	h.play([]step{{"d k=v", "OVER_LIMIT | OVER_LIMIT 0/2 DAY 75335s"}})
	control.Answer(control.Push(pushed("d", 5)))
	h.play([]step{{"d k=v", "OK | OK 2/5 DAY 75335s"}})
	m := h.server.MetricsSnapshot().Envoy
	if c := m.Control; c == nil || c.Accepted != 2 || c.Refused != 1 || !c.Connected || m.Refused != 0 || m.Rules != 1 || len(m.Counts) != 1 || m.Counts[0].Granted != 3 || m.Counts[0].Denied != 1 {
		t.Errorf("%+v %+v", m, m.Control)
	}
	control.Stop()
	h.eventually("the connection is gone", func() bool { return !h.server.MetricsSnapshot().Envoy.Control.Connected })
	h.play([]step{{"d k=v", "OK | OK 1/5 DAY 75335s"}})
	expectState(grpc_health_v1.HealthCheckResponse_SERVING)
}

// With --rls-xds-wait no, requests are granted before there are rules.
func TestNoPushedRules(t *testing.T) {
	_, h := newPushed(t, false)
	out, err := h.client().ShouldRateLimit(context.Background(), parse(t, "d k=v"))
	if err != nil || out.OverallCode != ratelimit.RateLimitResponse_OK || h.server.Ready() != nil {
		t.Error(out, err, h.server.Ready())
	}
}

// TLS files that cannot be read are an error at startup.
func TestPushedRulesWithoutCA(t *testing.T) {
	s := new(Service)
	h := newHost(t, nil)
	s.gateway = h.Service.gateway
	cfg := settings.Default()
	cfg.RLSXDS, cfg.RLSXDSTLS, cfg.RLSXDSTLSCA = "127.0.0.1:1", true, "testdata/none.pem"
	if err := s.openRules(&cfg); err == nil || !strings.Contains(err.Error(), "--rls-xds-tls-ca: open testdata/none.pem") {
		t.Error(err)
	}
}
