package keypair

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testtls"
)

func TestLoad(t *testing.T) {
	made := testtls.New(t)
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("no PEM\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ cert, key, says string }{
		{made.Cert, made.Key, ""},
		{other, made.Key, "--the-cert " + other + " and --the-key " + made.Key + " cannot be used: tls: failed to find any PEM data in certificate input; a file in PEM has lines such as "},
		{made.Cert, other, "any PEM data in key input; a file in PEM"},
		{made.Key, made.Cert, "may have been switched"},
		{"none", made.Key, "open none: no such file"},
	} {
		_, err := Load("the-cert", tc.cert, "the-key", tc.key)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s and %s: %v, not %q", tc.cert, tc.key, err, tc.says)
		}
	}
}

func TestOutOfDate(t *testing.T) {
	from := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	until := from.AddDate(0, 3, 0)
	c := &x509.Certificate{NotBefore: from, NotAfter: until}
	for _, tc := range []struct {
		now  time.Time
		says []string
	}{
		{from, nil},
		{until, nil},
		{until.Add(time.Second), []string{"--the-cert: own.pem expired on 2026-06-01 12:00:00 UTC", "valid from 2026-03-01 12:00:00", "put a renewed certificate"}},
		{from.Add(-time.Second), []string{"--the-cert: own.pem is not valid before 2026-03-01 12:00:00 UTC", "until 2026-06-01 12:00:00", "set the clock of this machine"}},
	} {
		err := OutOfDate("the-cert", "own.pem", c, tc.now)
		if (err == nil) != (tc.says == nil) {
			t.Errorf("at %v: %v", tc.now, err)
		}
		for _, words := range tc.says {
			if err != nil && !strings.Contains(err.Error(), words) {
				t.Errorf("at %v: %q does not say %q", tc.now, err, words)
			}
		}
	}
}
