package docs

import (
	"net/http"
	"strings"
	"testing"
)

// TestGatewayRequests sends the requests of proxies that the tests do not run: for the configurations on the page, each with the headers that it passes on.
func TestGatewayRequests(t *testing.T) {
	page := strings.Join(readPage(t, gatewaysPage).lines, "\n")
	url := startHTTP(t)
	if status, _, body := sendExample(t, url, []string{"POST /", `["RL.POLICY","SET","api","TB","ip:{}","2","1/h"]`}); status != "200" {
		t.Fatal(status, body)
	}
	const path = "/v1/auth?policy=api&id-header=x-client"
	for name, one := range map[string]struct {
		configured string // in the page
		header     string // lines
	}{
		"APISIX": {`uri: "http://127.0.0.1:8080` + path + `"`,
			"X-Forwarded-Proto: http\nX-Forwarded-Method: PUT\nX-Forwarded-Host: shop.example.com\nX-Forwarded-Uri: /a\nX-Forwarded-For: 192.0.2.3\nX-Client: 192.0.2.3\nUser-Agent: lua-resty-http/0.17.1 (Lua) ngx_lua/10026"},
		"Kong": {`client:request_uri("http://127.0.0.1:8080` + path + `", {`, "X-Client: 192.0.2.4\nUser-Agent: lua-resty-http/0.17.2 (Lua) ngx_lua/10026"},
	} {
		if !strings.Contains(page, one.configured) {
			t.Errorf("%s: the page has another configuration", name)
		}
		for i, want := range []int{200, 200, 429} {
			r, err := http.NewRequest(http.MethodGet, url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
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
