package httpapi

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testtls"
	"github.com/stintdb/stint/server/config"
)

// HTTPS uses the certificates of the port, and stays with HTTP/1.1.
func TestTLS(t *testing.T) {
	c := testtls.New(t)
	h := serve(t, func(cfg *config.Config) {
		cfg.HTTPListen, cfg.HTTPTLSListen, cfg.TLSCert, cfg.TLSKey = nil, []string{"127.0.0.1:0"}, c.Cert, c.Key
	})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.Pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: giveUp}).Get(h.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 200 || response.ProtoMajor != 1 {
		t.Errorf("%s over %s", response.Status, response.Proto)
	}
}

// A server that ends answers the request under way, and closes idle connections at once.
func TestShutdown(t *testing.T) {
	h := serve(t)
	address := strings.TrimPrefix(h.url, "http://")
	idle, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	fmt.Fprint(idle, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if n, err := idle.Read(make([]byte, 4096)); n == 0 || err != nil {
		t.Fatal(err)
	}
	got := h.raw(func(c net.Conn) {
		const body = `{"limits":[{"algorithm":"TB","key":"k","capacity":1,"rate":1}]}`
		fmt.Fprintf(c, "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
		if n, err := c.Read(make([]byte, 4096)); n == 0 || err != nil { // 100 Continue: the request is under way
			t.Fatal(err)
		}
		go func() { _ = h.stop() }()
		_ = idle.SetReadDeadline(time.Now().Add(giveUp))
		if n, err := idle.Read(make([]byte, 1)); n != 0 || err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("the idle connection: %d, %v", n, err)
		}
		fmt.Fprint(c, body)
	})
	if !strings.Contains(got, " 200 OK") || !strings.Contains(got, "Connection: close") {
		t.Errorf("the request under way: %q", got)
	}
	if err := h.stop(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}

// The blocked reply of a request whose time is over is given up, and its tokens come back. It waits for a place no
// longer.
func TestTimeout(t *testing.T) {
	t.Parallel() // it waits
	h := serve(t, func(c *config.Config) { c.CommandTimeout = 500 * time.Millisecond })
	h.run("TB.ACQUIRE k 1 1/h")
	if a := h.post("/", `["TB.ACQUIRE","k",1,"1/h",1,"BLOCK","2h"]`); a.status != 504 {
		t.Errorf("a blocked reply: %d %s", a.status, a.body)
	}
	if got := string(h.run("TB.ACQUIRE k 1 1/h 1 PEEK").Raw); got != "*5\r\n:0\r\n:1\r\n:0\r\n:3600000\r\n:3600000\r\n" {
		t.Errorf("afterwards: %q", got)
	}
	h.run("CC.ACQUIRE gpu 1 1h a")
	if a := h.post("/", `["CC.ACQUIRE","gpu",1,"1h","b","BLOCK","2h"]`); a.status != 504 {
		t.Errorf("a wait for a place: %d %s", a.status, a.body)
	}
	h.run("CC.RELEASE gpu a")
	if got := string(h.run("CC.HOLDERS gpu").Raw); got != "*0\r\n" {
		t.Errorf("the holders are %q", got)
	}
}
