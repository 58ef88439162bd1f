// Package testserver builds and runs the server of this checkout, for tests from outside.
package testserver

import (
	"bufio"
	"fmt"
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

// Build builds the server from a checkout, given by its root, and returns the program's path.
func Build(t testing.TB, root string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "stint")
	build := exec.Command("go", "build", "-o", program, "./cmd/stint")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	return program
}

// Start starts a server on a free port of the loopback interface, in a new directory and with no settings but the
// options, and returns its address once it is ready. The test's end stops it, and fails the test unless it ends well.
func Start(t testing.TB, program string, options ...string) (address string) {
	t.Helper()
	address = freeAddress(t)
	server := exec.Command(program, append([]string{"server", "--listen", address}, options...)...)
	server.Dir, server.Env = t.TempDir(), withoutSettings(os.Environ())
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr = server.Stdout
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	var log strings.Builder // written by the goroutine until ended is closed
	go func() {
		defer close(ended)
		announced := false
		for lines := bufio.NewScanner(output); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if !announced && strings.HasPrefix(lines.Text(), "ready") {
				announced = true
				close(ready)
			}
		}
	}()
	t.Cleanup(func() { stop(t, server, ended, &log) })
	select {
	case <-ready:
	case <-ended:
		t.Fatal("the server ended before it was ready")
	case <-time.After(startTimeout):
		t.Fatalf("the server was not ready within %v", startTimeout)
	}
	return address
}

// stop sends SIGTERM, and fails the test unless the server ends with status 0.
func stop(t testing.TB, server *exec.Cmd, ended <-chan struct{}, log *strings.Builder) {
	_ = server.Process.Signal(syscall.SIGTERM) // an error means that it has already ended
	select {
	case <-ended:
	case <-time.After(stopTimeout):
		t.Errorf("the server has not stopped within %v of SIGTERM", stopTimeout)
		_ = server.Process.Kill()
		<-ended
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if t.Failed() {
		t.Logf("the server's output:\n%s", log)
	}
}

// withoutSettings keeps the settings of the tests' environment away from the server.
func withoutSettings(environ []string) (rest []string) {
	for _, e := range environ {
		if !strings.HasPrefix(e, "STINT_") {
			rest = append(rest, e)
		}
	}
	return rest
}

// freeAddress is a loopback address with a free port.
func freeAddress(t testing.TB) string { return freeAddresses(t, 1)[0] }
