package keypair

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testtls"
)

// A file of CA certificates is read again when it is another one, and only then; while it cannot be read, the
// certificates before stay.
func TestAuthoritiesAreReplaced(t *testing.T) {
	first, second := testtls.New(t), testtls.New(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	replace := func(text string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var log strings.Builder
	replace(read(first.CA))
	a, err := LoadAuthorities("the-ca", file, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if pool := a.Pool(); !pool.Equal(first.Pool) || pool != a.Pool() {
		t.Error("unchanged, it is read again")
	}
	replace(read(second.CA))
	if !a.Pool().Equal(second.Pool) {
		t.Error("the next authority is not trusted")
	}
	replace("no PEM")
	for range 2 {
		if !a.Pool().Equal(second.Pool) {
			t.Error("a file without certificates is taken")
		}
	}
	if got := strings.Count(log.String(), "--the-ca: "+file+" contains no certificate in PEM"); got != 1 {
		t.Errorf("the log says so %d times:\n%s", got, &log)
	}
	replace(read(first.CA))
	if !a.Pool().Equal(first.Pool) {
		t.Error("a file mended is not read")
	}
	if _, err := LoadAuthorities("the-ca", file+".none", slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "--the-ca: ") {
		t.Error(err)
	}
}
