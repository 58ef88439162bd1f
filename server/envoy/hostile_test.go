package envoy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Descriptors that no Envoy sends are granted without a limit, or are an error. No two of them make the same key.
func TestHostileDescriptors(t *testing.T) {
	h := newHost(t, nil)
	entry := func(key, value string) *extension.RateLimitDescriptor_Entry {
		return &extension.RateLimitDescriptor_Entry{Key: key, Value: value}
	}
	request := func(domain string, entries ...*extension.RateLimitDescriptor_Entry) *ratelimit.RateLimitRequest {
		return &ratelimit.RateLimitRequest{Domain: domain, Descriptors: []*extension.RateLimitDescriptor{{Entries: entries}}}
	}
	client := h.client()
	for name, step := range map[string]struct {
		in   *ratelimit.RateLimitRequest
		want string
	}{
		"a domain nobody configured":     {request("nobody", entry("table", "orders")), "OK | OK 0"},
		"a domain like a path":           {request("../shop", entry("table", "orders")), "OK | OK 0"},
		"no entries":                     {request("shop"), "OK | OK 0"},
		"an empty key":                   {request("shop", entry("", "orders")), "OK | OK 0"},
		"an empty key and value":         {request("shop", entry("", "")), "OK | OK 0"},
		"an empty key below a known one": {request("shop", entry("kind", "mail"), entry("", "x")), "OK | OK 0"},
		"an empty value":                 {request("shop", entry("table", "")), "OK | OK 1/2 MINUTE 35s"},
		"line breaks in a value":         {request("shop", entry("table", "a\r\nX: y")), "OK | OK 1/2 MINUTE 35s"},
		"separators in a value":          {request("shop", entry("table", "|to=x")), "OK | OK 1/2 MINUTE 35s"},
		"a descriptor that is missing":   {&ratelimit.RateLimitRequest{Domain: "shop", Descriptors: []*extension.RateLimitDescriptor{{}, {}}}, "OK | OK 0 | OK 0"},
	} {
		out, err := client.ShouldRateLimit(context.Background(), step.in)
		if err != nil || show(out) != step.want {
			t.Errorf("%s: %v, %v, want %s", name, out, err, step.want)
		}
	}
	most := request("shop", entry("table", "orders"))
	most.Descriptors[0].HitsAddend = wrapperspb.UInt64(1<<64 - 1)
	h.expect(context.Background(), client, most, codes.InvalidArgument, "hits_addend")
	var deep []*extension.RateLimitDescriptor_Entry
	for range 2000 {
		deep = append(deep, entry("kind", "mail"))
	}
	if out, err := client.ShouldRateLimit(context.Background(), request("shop", deep...)); err != nil || show(out) != "OK | OK 0" {
		t.Errorf("2000 entries: %v, %v", out, err)
	}
}

// A web page can make a browser send requests, and preflight requests for other types. All are refused.
func TestWebPages(t *testing.T) {
	h := newHost(t, nil)
	message, err := proto.Marshal(parse(t, "shop table=orders"))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	body := string(append([]byte{0, 0, 0, 0, byte(len(message))}, message...))
	for _, step := range []struct {
		method, kind, body string
		granted            bool
	}{
		{http.MethodOptions, "", "", false},
		{http.MethodGet, "application/grpc", "", false},
		{http.MethodPost, "text/plain", body, false},
		{http.MethodPost, "application/x-www-form-urlencoded", body, false},
		{http.MethodPost, "application/grpc-web", body, false},
		{http.MethodPost, "application/grpc", body, true}, // a browser sends a preflight request first
	} {
		r, err := http.NewRequest(step.method, "http://"+h.addr+ratelimit.RateLimitService_ShouldRateLimit_FullMethodName, strings.NewReader(step.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "http://evil.example.com")
		r.Header.Set("Content-Type", step.kind)
		r.Header.Set("Access-Control-Request-Method", "POST")
		response, err := (&http.Client{Transport: transport, Timeout: giveUp}).Do(r)
		if err != nil {
			if step.granted {
				t.Error(err)
			}
			continue // the stream was reset
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		granted := response.StatusCode == http.StatusOK && response.Trailer.Get("Grpc-Status") == "0"
		if granted != step.granted || response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %q: %s, %v, %v", step.method, step.kind, response.Status, response.Header, response.Trailer)
		}
	}
	asked := int64(0)
	for _, c := range h.server.MetricsSnapshot().Envoy.Counts {
		asked += c.Granted + c.Denied
	}
	if asked != 1 {
		t.Errorf("%d requests were decided, want 1", asked)
	}
}

// A client that uses HTTP/1.1, or sends an incomplete or invalid message, gets no answer, and others are served.
func TestHostileBytes(t *testing.T) {
	h := newHost(t, nil)
	for _, bytes := range []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"*1\r\n$4\r\nPING\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\xff", 1000),
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + string(frame(0x4, 0, 0, nil)) + string(frame(0x0, 0, 1, []byte("data of no stream"))),
	} {
		c, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(giveUp))
		fmt.Fprint(c, bytes)
		_ = c.(*net.TCPConn).CloseWrite()
		got, _ := io.ReadAll(c)
		if strings.Contains(string(got), "200") {
			t.Errorf("%.40q: %q", bytes, got)
		}
		_ = c.Close()
	}
	h.expect(context.Background(), h.client(), parse(t, "shop table=orders"), codes.OK, "")
}
