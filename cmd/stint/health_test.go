package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

func TestHealth(t *testing.T) {
	ready := true
	routes := http.NewServeMux()
	routes.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("alive\n")) })
	routes.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("ready\n"))
	})
	web := httptest.NewServer(routes)
	defer web.Close()
	address := strings.TrimPrefix(web.URL, "http://")
	_, port, _ := strings.Cut(address, ":")
	expect := func(code int, stdout, stderr string, environ []string, args ...string) {
		t.Helper()
		var out, err strings.Builder
		p := &process{environ: environ, stdout: &out, stderr: &err}
		if got := p.run(t.Context(), append([]string{"health"}, args...)); got != code || out.String() != stdout || !strings.Contains(err.String(), stderr) {
			t.Errorf("stint health %v: exit %d, wrote %q and %q", args, got, &out, &err)
		}
	}
	expect(exitOK, "ready\n", "", nil, "--admin", address)
	expect(exitOK, "ready\n", "", []string{"STINT_ADMIN=" + address})
	expect(exitOK, "ready\n", "", []string{"STINT_ADMIN=0.0.0.0:" + port})
	expect(exitOK, "ready\n", "", nil, "--admin", ":"+port)
	ready = false
	expect(exitFailed, "", "answers 503 Service Unavailable: draining", nil, "--admin", address)
	expect(exitOK, "alive\n", "", nil, "--admin", address, "--alive")
	expect(exitFailed, "", "the server does not answer", nil, "--admin", testserver.ReserveAddress(t))
	expect(exitUsage, "", "--admin: must be HOST:PORT", nil, "--admin", "6380")
	expect(exitUsage, "", "--admin: must be HOST:PORT, such as 127.0.0.1:6380, got 'localhost:six'", nil, "--admin", "localhost:six")
	expect(exitUsage, "", "health takes flags only", nil, "now")
	expect(exitUsage, "", "unknown flag: --quick; 'stint health --help'", nil, "--quick")
}
