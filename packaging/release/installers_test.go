package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// installable has the archives and installers of a release whose programs are scripts.
func installable(t *testing.T) *release {
	t.Helper()
	r := newTestRelease(t)
	var targets []target
	for _, system := range r.Builds[0].Goos {
		for _, processor := range r.Builds[0].Goarch {
			program := filepath.Join(t.TempDir(), "stint")
			text := "#!/bin/sh\n# " + system + " " + processor + "\necho stint 0.0.9\n"
			if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			targets = append(targets, target{system, processor, program})
			if err := r.archive(targets[len(targets)-1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.installers(targets); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestInstallScript runs install.sh with the archives of a local server: it installs the program, also over an older
// one, and nothing if a bit of the archive is another, or there is none.
func TestInstallScript(t *testing.T) {
	r, flip := installable(t), false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		content, err := os.ReadFile(r.path(request.URL.Path))
		if err != nil {
			http.NotFound(w, request)
			return
		}
		if flip {
			content[len(content)/2] ^= 1
		}
		_, _ = w.Write(content)
	}))
	defer server.Close()
	folder := filepath.Join(t.TempDir(), "bin")
	install := func(from string) (string, error) {
		run := testserver.Command(t, "sh", r.path("install.sh"))
		run.Env = append(os.Environ(), "STINT_BIN="+folder, "STINT_DOWNLOAD="+from)
		said, err := run.CombinedOutput()
		return string(said), err
	}
	installed := filepath.Join(folder, "stint")
	refused := func(from, says string) {
		t.Helper()
		before, _ := os.ReadFile(installed)
		said, err := install(from)
		after, _ := os.ReadFile(installed)
		if err == nil || !strings.Contains(said, says) || !bytes.Equal(before, after) {
			t.Errorf("%v, and it says %q, not %q", err, said, says)
		}
	}
	flip = true
	refused(server.URL, "it was damaged or changed, and nothing is installed")
	flip = false
	for range 2 {
		if said, err := install(server.URL); err != nil || !strings.Contains(said, "Stint 0.0.9 is installed: "+installed) {
			t.Fatalf("%v %s", err, said)
		}
		if got := output(t, installed, "version"); got != "stint 0.0.9\n" {
			t.Errorf("%q is installed", got)
		}
	}
	flip = true
	refused(server.URL, "it was damaged or changed, and nothing is installed")
	refused(server.URL+"/nowhere", "could not be downloaded")
}

// TestInstallers has the tools of each system that are here read its file.
func TestInstallers(t *testing.T) {
	r := installable(t)
	output(t, "sh", "-n", r.path("install.sh"))
	output(t, "ruby", "-c", r.path("stint.rb"))
	said := output(t, "bash", "-euc", `source "$0"; echo "$pkgname $pkgver $sha256sums_x86_64 $source_x86_64"`, r.path("PKGBUILD"))
	sum, _, _ := strings.Cut(output(t, "sha256sum", r.path("stint_0.0.9_linux_amd64.tar.gz")), " ")
	want := "stint-bin 0.0.9dev " + sum + " https://github.com/stintdb/stint/releases/download/v0.0.9/stint_0.0.9_linux_amd64.tar.gz\n"
	if said != want {
		t.Errorf("the PKGBUILD says %q, not %q", said, want)
	}
	if flake := output(t, "tar", "-xzOf", r.path("stint_0.0.9_flake.tar.gz"), "stint/flake.nix"); strings.Count(flake, sum) != 1 {
		t.Errorf("the flake does not name the archive's SHA-256 once: %s", flake)
	}
	unpacked := t.TempDir()
	output(t, "tar", "-C", unpacked, "-xzf", r.path("stint_0.0.9_linux_amd64.tar.gz"))
	into := t.TempDir() // as makepkg does
	output(t, "bash", "-euc", `source "$0"; cd "$1"; pkgdir=$2; package`, r.path("PKGBUILD"), unpacked, into)
	if got := output(t, filepath.Join(into, "usr/bin/stint")); got != "stint 0.0.9\n" {
		t.Errorf("%q is packaged", got)
	}
}
