package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

// A proxy asks with the caller's request, whatever its method and path, and gets a status and fields.
func TestAuth(t *testing.T) {
	h := serve(t)
	h.run("RL.POLICY SET api TB u:{} 2 1/m", "RL.POLICY SET llm TB {tenant}:{} 1 1/h", "RL.POLICY SET warned TB warned:{tenant}:{} 4 1/1m WARN 50%")
	for _, step := range []struct {
		method, target string
		headers        []string
		status         int
		fields         string
	}{
		{http.MethodGet, "?policy=api&id=1", nil, 200, `"api";r=1`},
		{http.MethodHead, "?policy=api&id=1", nil, 200, `"api";r=0`},
		{http.MethodPost, "?policy=api&id=1", nil, 429, `"api";r=0;t=60`},
		{http.MethodGet, "?policy=api&id=1&deny=403", nil, 403, `"api";r=0;t=60`},
		{http.MethodGet, "?policy=api&id-header=X-Api-Key&tokens=2", []string{"x-api-key: k"}, 200, `"api";r=0`},
		{http.MethodGet, "?policy=api&id-header=X-Api-Key&deny=401", nil, 401, ""},
		{http.MethodGet, "?policy=api&id-header=X-Api-Key", []string{"x-api-key: "}, 429, ""},
		{http.MethodGet, "?policy=api&id-header=X-Api-Key&deny=403", []string{"x-api-key: a", "x-api-key: b"}, 403, ""},
		{http.MethodGet, "?policy=api&id-header=host", nil, 200, `"api";r=1`},
		{http.MethodGet, "?policy=llm&id=1&with.tenant=acme", nil, 200, `"llm";r=0`},
		{http.MethodGet, "?policy=warned&id=1&with.tenant=acme", nil, 200, `"warned";r=3`},
		{http.MethodGet, "?policy=warned&id=1&with.tenant=acme&keep=1", nil, 200, `"warned";r=2;stint-warn`},
		{http.MethodGet, "?policy=llm&id=1&with-header.tenant=x-tenant&keep=0", []string{"X-Tenant: other"}, 200, `"llm";r=0`},
		{http.MethodGet, "?policy=llm&id=1&with-header.tenant=x-tenant", nil, 429, ""},
		{http.MethodGet, "?policy=llm&id=1", nil, 400, ""},
		{http.MethodGet, "?policy=nosuch&id=1", nil, 404, ""},
		{http.MethodGet, "?policy=api", nil, 400, ""},
		{http.MethodGet, "?id=1", nil, 400, ""},
		{http.MethodGet, "?policy=api&id=1&id-header=x", nil, 400, ""},
		{http.MethodGet, "?policy=api&id=1&id=2", nil, 400, ""},
		{http.MethodGet, "?policy=api&id=1&other=2", nil, 400, ""},
		{http.MethodGet, "?policy=api&id=1&deny=200", nil, 400, ""},
		{http.MethodGet, "?policy=api&id=1&tokens=many", nil, 400, ""},
		{http.MethodGet, "?policy=%zz", nil, 400, ""},
		{http.MethodGet, "/policy=api&id=9/v1/../x//y?policy=other&id=1", nil, 200, `"api";r=1`},
		{http.MethodPut, "/policy=api&id=9", nil, 200, `"api";r=0`},
		{http.MethodGet, "/policy=api&id=a%2Fb/x", nil, 200, `"api";r=1`},
		{http.MethodGet, "/", nil, 400, ""},
	} {
		a := h.send(step.method, authPath+step.target, "", step.headers...)
		if a.status != step.status || a.header.Get("RateLimit") != step.fields {
			t.Errorf("%s %s: %d %v %s", step.method, step.target, a.status, a.header, a.body)
		}
		if step.fields != "" && a.body != "" {
			t.Errorf("%s: a body: %s", step.target, a.body)
		}
	}
	if got := string(h.run("SCAN 0 COUNT 100").Raw); !strings.Contains(got, "u:a/b") || !strings.Contains(got, "acme:1") {
		t.Errorf("keys: %q", got)
	}
	if h.log.Count("a proxy's request was not decided") != 1 {
		t.Errorf("the log should have the first of the errors:\n%s", &h.log)
	}
}
