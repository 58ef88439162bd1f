//go:build e2e

package docs

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// buildServer builds the server of this checkout and returns its path.
func buildServer(t *testing.T) string {
	t.Helper()
	readSources(t)
	return testserver.Build(t, root)
}

// readSources reads the server's sources, so that the test cache of go test depends on them.
// Without it, results from before a change to the server would count as current.
func readSources(t *testing.T) {
	t.Helper()
	for _, path := range append(findFiles(t, "*.go"), "go.mod", "go.sum") {
		if _, err := os.ReadFile(filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
	}
}

// startServer starts a server on a free port of the loopback interface and returns the port. The test's end stops it.
func startServer(t *testing.T, binary string, options ...string) (port string) {
	t.Helper()
	_, port, err := net.SplitHostPort(testserver.Start(t, binary, options...))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// require skips the test if a program is missing. In CI, where no test may be skipped, it fails the test instead.
func require(t *testing.T, found bool, program, install string) {
	t.Helper()
	switch {
	case found:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is missing: install %s", program, install)
	default:
		t.Skipf("%s is missing: install %s", program, install)
	}
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
