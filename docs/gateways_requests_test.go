package docs

import (
	"net/http"
	"strings"
	"testing"
)

// TestGatewayRequests sends what proxies send that the tests do not run: for the configurations on the page, each with the client's method, path and
// headers that it passes on. The request of Traefik is that of version 3.6.12, recorded.
func TestGatewayRequests(t *testing.T) {
	page := strings.Join(readPage(t, gatewaysPage).lines, "\n")
	url := startHTTP(t)
	for _, command := range []string{`["RL.POLICY","SET","api","TB","ip:{}","2","1/h"]`, `["ACL","SETUSER","gateway","on",">secret","~ip:*","+rl.check"]`} {
		if status, _, body := sendExample(t, url, []string{"POST /", command}); status != "200" {
			t.Fatal(status, body)
		}
	}
	for name, one := range map[string]struct {
		configured string // in the page
		method     string
		path       string
		host       string
		header     string // lines
	}{
		"Traefik": {`address: "http://127.0.0.1:8080/v1/auth?policy=api&id-header=x-forwarded-for"`, http.MethodGet, "/v1/auth?policy=api&id-header=x-forwarded-for", "127.0.0.1:8080",
			"User-Agent: Go-http-client/1.1\nX-Forwarded-For: 192.0.2.1\nX-Forwarded-Host: shop.example.com\nX-Forwarded-Method: POST\nX-Forwarded-Proto: http\nX-Forwarded-Uri: /a/b?c=d\nAccept-Encoding: gzip"},
		"Envoy": {`path_prefix: "/v1/auth/policy=api&id-header=x-client"`, http.MethodPost, "/v1/auth/policy=api&id-header=x-client/a/../b?c=d", "shop.example.com",
			"Authorization: Bearer gateway:secret\nContent-Length: 0\nX-Client: 192.0.2.2\nX-Envoy-Internal: true\nX-Forwarded-For: 10.0.0.1\nX-Envoy-Expected-Rq-Timeout-Ms: 100"},
		"APISIX": {`uri: "http://127.0.0.1:8080/v1/auth?policy=api&id-header=x-client"`, http.MethodGet, "/v1/auth?policy=api&id-header=x-client", "127.0.0.1:8080",
			"X-Forwarded-Proto: http\nX-Forwarded-Method: PUT\nX-Forwarded-Host: shop.example.com\nX-Forwarded-Uri: /a\nX-Forwarded-For: 192.0.2.3\nX-Client: 192.0.2.3\nUser-Agent: lua-resty-http/0.17.1 (Lua) ngx_lua/10026"},
		"Kong": {`client:request_uri("http://127.0.0.1:8080/v1/auth?policy=api&id-header=x-client", {`, http.MethodGet, "/v1/auth?policy=api&id-header=x-client", "127.0.0.1:8080",
			"X-Client: 192.0.2.4\nUser-Agent: lua-resty-http/0.17.2 (Lua) ngx_lua/10026"},
	} {
		if !strings.Contains(page, one.configured) {
			t.Errorf("%s: the page has another configuration", name)
		}
		for i, want := range []int{200, 200, 429} {
			r, err := http.NewRequest(one.method, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			path, query, _ := strings.Cut(one.path, "?")
			r.URL.Opaque, r.URL.RawQuery, r.Host = path, query, one.host
			for line := range strings.SplitSeq(one.header, "\n") {
				name, value, _ := strings.Cut(line, ": ")
				r.Header.Set(name, value)
			}
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if retry := response.Header.Get("Retry-After"); response.StatusCode != want || (want == 429) != (retry == "3600") {
				t.Errorf("%s, request %d: %s, Retry-After %q", name, i+1, response.Status, retry)
			}
		}
	}
}

const gatewaysPage = "docs/gateways.md"
