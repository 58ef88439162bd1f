package admin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// set changes a setting of a host by name.
func set(t *testing.T, cfg *config.Config, name, value string) {
	t.Helper()
	row, _ := config.Lookup(name)
	if err := row.Set(cfg, value); err != nil {
		t.Fatal(err)
	}
}

// No matter how many idle connections are open, health checks are answered, and so are clients that showed the token.
func TestIdleConnectionsKeepNobodyAway(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) { set(t, cfg, "admin-token", "secret") })
	h.serve()
	ask := func(conn net.Conn, path, header string) bool {
		_, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\n")
		if err != nil {
			return false
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, response.Body)
		return response.StatusCode == http.StatusOK
	}
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", h.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(giveUp))
		return conn
	}
	const token = "Authorization: Bearer secret\r\n"
	operator := dial()
	if !ask(operator, "/api/policies", token) {
		t.Fatal("the token is not taken")
	}
	const idle = maxConnections + 50
	answered := 0
	for range idle {
		if ask(dial(), "/healthz", "") {
			answered++
		}
		if conn := dial(); conn == nil { // and one that sends nothing
			t.Fatal("no connection")
		}
	}
	if answered != idle {
		t.Errorf("%d of %d health checks were answered", answered, idle)
	}
	if !ask(operator, "/api/policies", token) {
		t.Error("the connection that has shown the token was closed for others")
	}
}

// Guesses of the token are limited like guesses of passwords, and logged once a minute.
func TestGuessedTokens(t *testing.T) {
	var log testlog.Log
	h := newHost(t, func(cfg *config.Config, o *server.Options) {
		set(t, cfg, "admin-token", "secret")
		cfg.FailedLogins, o.Log = 3, log.Logger()
	})
	h.serve()
	for range 3 {
		if status, _ := h.get("/metrics", "Authorization", "Bearer guess"); status != http.StatusUnauthorized {
			t.Fatal(status)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.Address()+"/metrics", nil)
	r.Header.Set("Authorization", "Bearer guess")
	ended := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(r)
		ended <- err
	}()
	h.eventually("the guess waits for its turn", func() bool { return h.server.MetricsSnapshot().Blocked > 0 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a guess too many is answered: %v", err)
	}
	h.eventually("it has left", func() bool { return h.server.MetricsSnapshot().Blocked == 0 })
	if n := log.Count("a wrong token was sent"); n != 1 {
		t.Errorf("%d lines were logged: %s", n, &log)
	}
}

// If clients need a password, profiles need a token. No profile has the command line, which may contain a password.
func TestProfilesNeedAToken(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) {
		set(t, cfg, "requirepass", "tea")
		cfg.Pprof = true
	})
	h.serve()
	for _, path := range []string{"", "heap", "cmdline", "symbol", "trace?seconds=0.01"} {
		if status, body := h.get("/debug/pprof/" + path); status != http.StatusForbidden || !strings.Contains(body, "--admin-token") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	open := newHost(t, func(cfg *config.Config, _ *server.Options) { cfg.Pprof = true })
	open.serve()
	if status, _ := open.get("/debug/pprof/heap?debug=1"); status != http.StatusOK {
		t.Error(status)
	}
	if status, _ := open.get("/debug/pprof/cmdline"); status != http.StatusNotFound {
		t.Error(status)
	}
}
