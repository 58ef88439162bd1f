package health

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/servertest"
)

// waiting is a service that is not ready.
type waiting struct{}

func (waiting) Start(*gateway.Gateway) ([]string, error) { return nil, nil }
func (waiting) Stop(context.Context)                     {}
func (waiting) Ready() error                             { return errors.New("there are no rules") }

// newHost returns the address for health checks of a server that needs a password.
func newHost(t *testing.T, s *Service, more ...gateway.Service) string {
	cfg := config.Default()
	cfg.Listen, cfg.HealthListen, cfg.Loops, cfg.IdleTimeout = []string{"127.0.0.1:0"}, []string{"127.0.0.1:0"}, 1, 0
	password, _ := config.Lookup("requirepass")
	if err := password.Set(&cfg, "secret"); err != nil {
		t.Fatal(err)
	}
	keys := store.New(store.Config{Shards: 16})
	t.Cleanup(keys.Close)
	c := clocktest.New(testwait.Deadline())
	addresses, _ := servertest.Serve(t, server.New(server.Options{
		Config: cfg, Decider: &decider.Local{Store: keys, Clock: c.Clock}, Keys: keys, Clock: c.Clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Version: "0.0.0-test",
		Services: append([]gateway.Service{s}, more...),
	}))
	return addresses[len(addresses)-1]
}

func get(t *testing.T, method, url string) string {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status[:3] + " " + strings.TrimSpace(string(body))
}

// Checks need no password, and there are no other paths.
func TestHealth(t *testing.T) {
	url := "http://" + newHost(t, new(Service))
	for path, want := range map[string]string{
		"GET /healthcheck": "200 ready", "GET /readyz": "200 ready", "GET /healthz": "200 ok", "HEAD /healthcheck": "200 ", "POST /healthcheck": "405 Method Not Allowed",
		"GET /metrics": "404 404 page not found", "GET /": "404 404 page not found", "GET /v1/check": "404 404 page not found",
	} {
		method, path, _ := strings.Cut(path, " ")
		if got := get(t, method, url+path); got != want {
			t.Errorf("%s %s: %q, want %q", method, path, got, want)
		}
	}
}

// A server that lacks something is alive but not ready.
func TestNotReady(t *testing.T) {
	url := "http://" + newHost(t, new(Service), waiting{})
	for path, want := range map[string]string{"/healthcheck": "503 there are no rules", "/readyz": "503 there are no rules", "/healthz": "200 ok"} {
		if got := get(t, http.MethodGet, url+path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// The number of connections is limited, and connections that end make room for others.
func TestConnectionsAreBounded(t *testing.T) {
	s := new(Service)
	address := newHost(t, s)
	var open []net.Conn
	for range 2 * maxConnections {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	closed := 0
	for _, c := range open[maxConnections:] {
		_ = c.SetReadDeadline(testwait.Deadline())
		if _, err := c.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			closed++
		}
	}
	if closed != maxConnections {
		t.Errorf("%d of %d are closed", closed, maxConnections)
	}
	for _, c := range open {
		_ = c.Close()
	}
	testwait.Until(t, "there is room", func() bool { return s.open.Load() == 0 })
	if got := get(t, http.MethodGet, "http://"+address+"/healthcheck"); got != "200 ready" {
		t.Error(got)
	}
}
