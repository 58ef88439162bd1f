package httpapi

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/server/config"
)

// Requests as clients of HTTP do not write them: each answer has the status, and nothing of the request in its header.
func TestHostileRequests(t *testing.T) {
	t.Parallel() // it waits
	h := serve(t)
	h.run("RL.POLICY SET api TB u:{} 100 1/h")
	const check = `{"policy":"api","id":"1"}`
	post := func(more, body string) string {
		return fmt.Sprintf("POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", len(body), more, body)
	}
	get := func(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n" }
	for name, step := range map[string]struct {
		request string
		status  int
	}{
		"as it should be":                {post("", check), 200},
		"dots":                           {get("/v1/./check"), 404},
		"dots that lead out":             {get("/../../healthz"), 404},
		"dots that are escaped":          {get("/v1/%2e%2e/healthz"), 404},
		"a slash that is escaped":        {get("/v1%2fauth?policy=api&id=1"), 200}, // the same path, by RFC 3986
		"a NUL in the path":              {get("/healthz%00"), 404},
		"a backslash":                    {get(`\healthz`), 400},
		"a path that is none":            {get("healthz"), 400},
		"another server's path":          {get("http://evil.example.com/v1/auth?policy=api&id=1"), 403},
		"a path of 17 KiB":               {get("/" + strings.Repeat("x", 20<<10)), 431},
		"an id of 1 MB in the query":     {get("/v1/auth?policy=api&id=" + strings.Repeat("x", 1<<20)), 431},
		"an id that is too long":         {get("/v1/auth?policy=api&id=" + strings.Repeat("x", 8<<10)), 400},
		"a line break in the id":         {get("/v1/auth?policy=api&id=%0d%0aX-Injected:%20y"), 200},
		"a line break in the policy":     {get("/v1/auth?policy=%0d%0aX-Injected:%20y&id=1"), 404},
		"a line break in a parameter":    {get("/v1/auth?policy=api&id=1&%0d%0aX-Injected:%20y=1"), 400},
		"a line break in a header name":  {get("/v1/auth?policy=api&id-header=%0d%0aX-Injected:%20y"), 429},
		"a method in small letters":      {strings.Replace(post("", check), "POST", "post", 1), 405},
		"a method of its own":            {strings.Replace(post("", check), "POST", "CHECK", 1), 405},
		"TRACE":                          {"TRACE /healthz HTTP/1.1\r\nHost: localhost\r\nX-Injected: y\r\n\r\n", 405},
		"CONNECT":                        {"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n", 404},
		"OPTIONS of the server":          {"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 200}, // by net/http, without a word
		"a method that stands elsewhere": {strings.Replace(get("/v1/check"), "Host", "X-HTTP-Method-Override: POST\r\nHost", 1), 405},
		"no Host":                        {"GET /healthz HTTP/1.1\r\n\r\n", 400},
		"two Hosts":                      {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example.com\r\n\r\n", 400},
		"a page with another Host":       {strings.Replace(post("", check), "localhost", "rebound.example.com:8080", 1), 403},
		"a page with another Origin":     {post("Origin: http://evil.example.com\r\n", check), 403},
		"a page with two Origins":        {post("Origin: http://localhost\r\nOrigin: http://evil.example.com\r\n", check), 403},
		"two lengths":                    {post("Content-Length: 1\r\n", check), 400},
		"a length below 0":               {strings.Replace(post("", ""), "Content-Length: 0", "Content-Length: -1", 1), 400},
		"an unknown coding":              {strings.Replace(post("", ""), "Content-Length: 0", "Transfer-Encoding: gzip, chunked", 1), 501},
		"a compressed body":              {post("Content-Encoding: gzip\r\n", "\x1f\x8b\x08\x00"), 415},
		"an upgrade to HTTP/2":           {post("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n", check), 200},
		"1000 fields":                    {post(strings.Repeat("A: b\r\n", 1000), check), 200},
	} {
		got := h.raw(func(c net.Conn) {
			// Behind a request without a next one, the connection is ended by the client.
			_, _ = c.Write([]byte(step.request))
			_ = c.(*net.TCPConn).CloseWrite()
		})
		first, rest, _ := strings.Cut(got, "\r\n")
		if !strings.HasPrefix(first, fmt.Sprintf("HTTP/1.1 %d ", step.status)) {
			t.Errorf("%s: %q, want %d", name, first, step.status)
		}
		head, _, _ := strings.Cut(rest, "\r\n\r\n")
		if strings.Contains(head, "X-Injected") || strings.Contains(head, "Access-Control") {
			t.Errorf("%s: %s", name, head)
		}
	}
}

// A body in JSON that does not fit, at the paths besides /v1/check.
func TestBadBodiesElsewhere(t *testing.T) {
	h := serve(t)
	for _, step := range []struct{ path, body, want string }{
		{"/v1/check", `{"policy":"api","id":"1","with":{"a":1,"a":2}}`, `\"a\" is there twice`},
		{"/v1/check", `{"limits":[{"algorithm":"TB","algorithm":"TB"}]}`, `\"algorithm\" is there twice`},
		{"/v1/check", `{"policy":"api","id":"1","__proto__":{}}`, "__proto__: is not a field"},
		{"/v1/check", `{"policy":{},"id":"1"}`, "policy: must be a string or a number"},
		{"/v1/check", `{"policy":"` + strings.Repeat("p", 1000) + `","id":"1"}`, "no such policy"},
		{"/v1/check", `{` + strings.Repeat(`"x":1,`, 2) + `"y":1}`, `\"x\" is there twice`},
		{"/v1/check", `null`, "must be an object"},
		{"/v1/check", ``, "ends too early"},
		{"/v1/settle", `{"id":"1","tokens":1,"cost":2}`, "cost: is not a field"},
		{"/v1/settle", `{"id":"1","id":"2","tokens":1}`, `\"id\" is there twice`},
		{"/v1/settle", `{"id":["1"],"tokens":1}`, "id: must be a string or a number"},
		{"/v1/settle", `{"id":"1","costs":[` + strings.Repeat("1,", 9999) + `1]}`, ""},
		{"/v1/settle", `{"id":"` + strings.Repeat("x", 1<<20-100) + `","tokens":1}`, ""},
		{"/v1/cancel", `{"id":"1","tokens":1}`, "tokens: is not a field"},
		{"/v1/cancel", `{}`, "id: is missing"},
		{"/v1/cancel", `"1"`, "must be an object"},
	} {
		a := h.post(step.path, step.body, "Content-Type: application/json")
		if a.status != 400 && a.status != 404 || !strings.Contains(a.body, step.want) || len(a.body) > 500 {
			t.Errorf("%s %.100s: %d %s", step.path, step.body, a.status, a.body)
		}
	}
}

// A body of which a byte comes now and then ends at --command-timeout, too: bytes do not lengthen the time.
func TestDrippingBody(t *testing.T) {
	t.Parallel() // it waits
	h := serve(t, func(c *config.Config) { c.CommandTimeout = 200 * time.Millisecond })
	for _, length := range []string{"Content-Length: 1000000", "Transfer-Encoding: chunked"} {
		got := h.raw(func(c net.Conn) {
			fmt.Fprintf(c, "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s\r\n\r\n", length)
			go func() {
				for {
					drop := " "
					if strings.HasPrefix(length, "Transfer") {
						drop = "1\r\n \r\n"
					}
					if _, err := c.Write([]byte(drop)); err != nil {
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
		})
		if !strings.HasPrefix(got, "HTTP/1.1 408 ") {
			t.Errorf("%s: %.100q", length, got)
		}
	}
}

// A header of 16 KiB is read, and one byte more is too long.
func TestLongestHeader(t *testing.T) {
	t.Parallel() // it waits
	h := serve(t)
	for length, status := range map[int]string{16 << 10: "200", 16<<10 + 1: "431"} {
		const request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: %s\r\n\r\n"
		got := h.raw(func(c net.Conn) { fmt.Fprintf(c, request, strings.Repeat("x", length-len(request)+len("%s"))) })
		if !strings.HasPrefix(got, "HTTP/1.1 "+status) {
			t.Errorf("%d bytes: %.40q, want %s", length, got, status)
		}
	}
}
