package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/metrics"
)

// Answers are counted by path and status, those to unknown paths together.
func TestRequestsAreCounted(t *testing.T) {
	h := serve(t)
	h.run("RL.POLICY SET api TB u:{} 1 1/h")
	const body = `{"policy":"api","id":"1"}`
	h.post("/v1/check", body)
	h.post("/v1/check", body)
	h.post("/v1/check", body)
	h.post("/v1/check", "{")
	h.send(http.MethodPut, "/v1/check", body)
	h.post("/", `["PING"]`)
	h.send(http.MethodGet, "/healthz", "")
	h.send(http.MethodGet, "/v1/auth?policy=api&id=1&deny=403", "")
	h.send(http.MethodGet, "/v1/auth/policy=api&id=2/any/path", "")
	for i := range 10 {
		h.send(http.MethodGet, fmt.Sprintf("/none/%d", i), "")
	}
	want := []metrics.HTTPCount{
		{Path: metrics.OtherPaths, Status: 404, Requests: 10}, {Path: "/", Status: 200, Requests: 1}, {Path: "/healthz", Status: 200, Requests: 1},
		{Path: "/v1/auth", Status: 200, Requests: 1}, {Path: "/v1/auth", Status: 403, Requests: 1}, {Path: "/v1/check", Status: 200, Requests: 1},
		{Path: "/v1/check", Status: 400, Requests: 1}, {Path: "/v1/check", Status: 405, Requests: 1}, {Path: "/v1/check", Status: 429, Requests: 2},
	}
	if got := h.MetricsSnapshot().HTTP; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// The fields of a policy with many limits and a long name stay shorter than the buffers of proxies.
func TestFieldsAreBounded(t *testing.T) {
	h := serve(t)
	name := strings.Repeat("n", 255)
	h.run("RL.POLICY SET " + name + limitsOf(64))
	a := h.post("/v1/check", `{"policy":"`+name+`","id":"1"}`)
	if a.status != 200 {
		t.Fatal(a.status, a.body)
	}
	for _, field := range []string{"RateLimit", "RateLimit-Policy"} {
		got := a.header.Get(field)
		if len(got) > 1300 || !strings.HasPrefix(got, `"nnn`) || !strings.Contains(got, `:63";`) || strings.Count(got, ", ") < 5 {
			t.Errorf("%s: %s", field, got)
		}
	}
}

// limitsOf are n limits of a policy, the last of which is the tightest.
func limitsOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " TB k%d:{} %d 1/h", i, 2*n-i)
	}
	return b.String()
}
