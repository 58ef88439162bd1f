package docs

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 10 * time.Second
	stopTimeout  = 10 * time.Second
)

// buildServer builds the server of this checkout and returns its path.
func buildServer(t *testing.T) string {
	t.Helper()
	readSources(t)
	binary := filepath.Join(t.TempDir(), "stint")
	build := exec.Command("go", "build", "-o", binary, "./cmd/stint")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	return binary
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()

	server := exec.Command(binary, append([]string{"--listen", address}, options...)...)
	server.Env = withoutSettings(os.Environ())
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr = server.Stdout
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	var log strings.Builder // of the goroutine's until ended is closed
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			if fmt.Fprintln(&log, lines.Text()); strings.HasPrefix(lines.Text(), "ready") {
				close(ready)
			}
		}
	}()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(stopTimeout, func() { _ = server.Process.Kill() })
		<-ended
		kill.Stop()
		if err := server.Wait(); err != nil {
			t.Errorf("the server ended with %v; its output:\n%s", err, &log)
		}
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatal("the server ended before it was ready")
	case <-time.After(startTimeout):
		t.Fatalf("the server was not ready within %v", startTimeout)
	}
	_, port, err = net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// withoutSettings keeps the settings of whoever runs the tests away from the server.
func withoutSettings(environ []string) (rest []string) {
	for _, e := range environ {
		if !strings.HasPrefix(e, "STINT_") {
			rest = append(rest, e)
		}
	}
	return rest
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
