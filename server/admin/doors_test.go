package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/envoy"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/httpapi"
)

// Requests by HTTP and gRPC are counted like requests of Redis clients: among the denied keys, by command and by policy.
func TestOtherProtocolsCount(t *testing.T) {
	rules := t.TempDir()
	text := "domain: shop\ndescriptors:\n  - {key: user, rate_limit: {policy: api}}\n"
	if err := os.WriteFile(filepath.Join(rules, "shop.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, func(cfg *config.Config, o *server.Options) {
		cfg.HTTPListen, cfg.GRPCListen, cfg.RLSConfig = []string{"127.0.0.1:0"}, []string{"127.0.0.1:0"}, rules
		o.Services = []gateway.Service{new(httpapi.Service), new(envoy.Service)}
	})
	addresses := h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET api TB api:{} 1 1/h")
	h.do(c, "RL.CHECK api redis", "RL.CHECK api redis")
	web, client := addresses[len(addresses)-2], connect(t, addresses[len(addresses)-1])
	for range 2 {
		response, err := http.Get("http://" + web + "/v1/auth?policy=api&id=http")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		d := &ratelimit.RateLimitDescriptor{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "user", Value: "grpc"}}}
		request := &rls.RateLimitRequest{Domain: "shop", Descriptors: []*ratelimit.RateLimitDescriptor{d}}
		if _, err := client.ShouldRateLimit(context.Background(), request); err != nil {
			t.Fatal(err)
		}
	}
	_, body := h.get("/api/overview")
	var page struct {
		Top struct{ Entries []topKey }
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		t.Fatal(err)
	}
	denied := map[string]int64{}
	for _, e := range page.Top.Entries {
		denied[e.Key] = e.Count
	}
	top := h.do(c, "RL.TOP")
	for _, key := range []string{"api:redis", "api:http", "api:grpc"} {
		if denied[key] != 1 {
			t.Errorf("the page: %s was denied %d times, want 1", key, denied[key])
		}
		if !strings.Contains(top, key) {
			t.Errorf("RL.TOP lacks %s: %q", key, top)
		}
	}
	_, text = h.get("/metrics")
	for _, want := range []string{
		`stint_policy_decisions_total{outcome="granted",policy="api"} 3`, `stint_policy_decisions_total{outcome="denied",policy="api"} 3`,
		`stint_decisions_total{command="rl.check",outcome="denied"} 3`,
		`stint_http_requests_total{path="/v1/auth",status="200"} 1`, `stint_http_requests_total{path="/v1/auth",status="429"} 1`,
		`stint_envoy_decisions_total{outcome="denied",rule="shop.user"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// connect opens a client of Envoy's rate limit service.
func connect(t *testing.T, address string) rls.RateLimitServiceClient {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return rls.NewRateLimitServiceClient(conn)
}
