package keypair

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
