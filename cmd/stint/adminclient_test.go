package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testtls"
)

// The commands that ask --admin do so over TLS.
func TestAdminTLS(t *testing.T) {
	certificates := testtls.New(t)
	_, plain := serveAdmin(t)
	_, banner := serveWithBanner(t, "--admin", "127.0.0.1:0", "--admin-tls", "--admin-token", "secret",
		"--tls-cert", certificates.Cert, "--tls-key", certificates.Key, "--tls-client-ca", certificates.CA)
	_, admin, named := strings.Cut(banner, "Look: https://")
	if admin, _, _ = strings.Cut(admin, " "); !named {
		t.Errorf("the banner does not name the page: %s", banner)
	}
	backup := filepath.Join(t.TempDir(), "backup.stint")
	for _, c := range []struct {
		code      int
		says, env string
		args      []string
	}{
		{exitOK, "ready", "", []string{"health", "--tls"}},
		{exitOK, "ready", "STINT_ADMIN_TLS=yes", []string{"health"}},
		{exitOK, "No key was denied", "STINT_ADMIN_TOKEN=secret", []string{"top", "--tls"}},
		{exitOK, "0 keys", "STINT_ADMIN_TOKEN=secret", []string{"backup", "--tls", "--cacert", certificates.CA, backup}},
		{exitOK, "ready", "", []string{"health", "--tls", "--cacert", certificates.CA}},
		{exitFailed, "certificate signed by unknown authority", "", []string{"health", "--tls", "--cacert", testtls.New(t).CA}},
		{exitFailed, "the server has --admin-tls: add --tls", "", []string{"health"}},
		{exitFailed, "the server has --admin-tls: add --tls", "STINT_ADMIN_TLS=yes", []string{"health", "--tls=false"}},
		{exitFailed, "the server has --admin-tls: add --tls", "", []string{"backup", backup}},
		{exitFailed, "the server has no --admin-tls: leave --tls out", "", []string{"health", "--admin", plain, "--tls"}},
		{exitUsage, "--cacert needs --tls: add --tls", "", []string{"health", "--cacert", certificates.CA}},
		{exitUsage, "contains no certificate in PEM", "", []string{"health", "--tls", "--cacert", certificates.Key}},
		{exitUsage, "must be yes or no, got 'enabled'", "STINT_ADMIN_TLS=enabled", []string{"top"}},
		{exitUsage, "--cacert: ", "", []string{"health", "--tls", "--cacert", "no-such-file"}},
	} {
		var out strings.Builder
		p := &process{environ: []string{"STINT_ADMIN=" + admin, c.env}, readFile: readRegularFile, stdout: &out, stderr: &out}
		if code := p.run(t.Context(), c.args); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s %v: exit %d, %s", c.env, c.args, code, &out)
		}
	}
	if _, err := os.Stat(backup); err != nil {
		t.Error(err)
	}
}
