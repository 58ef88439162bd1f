package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testtls"
	"github.com/stintdb/stint/server/config"
)

// The CA of home is replaced without a restart.
func TestUpstreamAuthoritiesAreReplaced(t *testing.T) {
	first, next := testtls.New(t), testtls.New(t)
	cfg := &config.Config{UpstreamTLS: true, UpstreamTLSCA: filepath.Join(t.TempDir(), "ca.pem")}
	if _, err := upstreamTLS(cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), "--upstream-tls-ca: ") {
		t.Errorf("without the file: %v", err)
	}
	if err := os.Rename(first.CA, cfg.UpstreamTLSCA); err != nil {
		t.Fatal(err)
	}
	secrets, err := upstreamTLS(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if !secrets().RootCAs.Equal(first.Pool) {
		t.Error("the first authority is not trusted")
	}
	if err := os.Rename(next.CA, cfg.UpstreamTLSCA); err != nil {
		t.Fatal(err)
	}
	if !secrets().RootCAs.Equal(next.Pool) {
		t.Error("the next authority is not trusted")
	}
}
