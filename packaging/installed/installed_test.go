//go:build installed

package installed

import (
	"flag"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

var (
	dist   = flag.String("dist", "../../dist", "the folder of the release")
	debian = flag.String("debian", "", "the root of a Debian system with systemd and redis-cli")
)

// output runs a command, which must succeed, and returns its output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := testserver.Command(t, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// part is the path of the one file of the release that a pattern names.
func part(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(*dist, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has %q (%v), not one %s: .ci/run release makes it", *dist, found, err, pattern)
	}
	return found[0]
}

// program unpacks the program of the release for this machine.
func program(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	output(t, "tar", "-C", folder, "-xzf", part(t, "stint_*_linux_"+runtime.GOARCH+".tar.gz"))
	return filepath.Join(folder, "stint")
}
