package admin

import (
	"crypto/tls"
	"net/http"
	"os"
	"testing"

	"github.com/stintdb/stint/internal/testtls"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// With --admin-tls, replies come over TLS already before there is a server, then with the server's certificate, and
// also to clients without a certificate.
func TestTLS(t *testing.T) {
	first, renewed := testtls.New(t), testtls.New(t)
	h := newHost(t, func(cfg *config.Config, _ *server.Options) {
		cfg.AdminTLS, cfg.TLSCert, cfg.TLSKey, cfg.TLSClientCA = true, first.Cert, first.Key, first.CA
	})
	status := func(c *testtls.Certificates, path string) int {
		secure := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.Pool}, DisableKeepAlives: true}
		response, err := (&http.Client{Timeout: giveUp, Transport: secure}).Get(h.URL() + path)
		if err != nil {
			return 0
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	if got := []int{status(first, "/healthz"), status(first, "/readyz"), status(renewed, "/healthz")}; got[0] != 200 || got[1] != 503 || got[2] != 0 {
		t.Errorf("before there is a server: %d", got)
	}
	h.serve()
	if got := []int{status(first, "/readyz"), status(first, "/metrics")}; got[0] != 200 || got[1] != 200 {
		t.Errorf("with a server: %d", got)
	}
	for from, to := range map[string]string{renewed.Cert: first.Cert, renewed.Key: first.Key} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.server.ReloadTLS(); err != nil {
		t.Fatal(err)
	}
	if got := []int{status(renewed, "/readyz"), status(first, "/readyz")}; got[0] != 200 || got[1] != 0 {
		t.Errorf("with a new certificate: %d", got)
	}
}
