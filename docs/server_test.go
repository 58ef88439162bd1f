package docs

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

// replyTimeout is how long a reply, or what follows from one, may take.
const replyTimeout = 10 * time.Second

// buildServer builds the server of this checkout and returns its path.
func buildServer(t *testing.T) string {
	t.Helper()
	readSources(t)
	return testserver.Build(t, root)
}

// readSources tells go test, which takes note of the files a test reads, that this one depends on the server's sources.
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

// require skips the test if something is missing, except in CI, where nothing may be left out quietly.
func require(t *testing.T, there bool, what string) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is missing", what)
	default:
		t.Skipf("%s is missing: without it the examples cannot be run", what)
	}
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
