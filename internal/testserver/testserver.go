// Package testserver builds and runs the server of this checkout, for tests from outside.
package testserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const startTimeout = 10 * time.Second

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
	return startReady(t, program, options...).Address
}

func startReady(t testing.TB, program string, options ...string) *Process {
	t.Helper()
	p := NewProcess(t, program, FreeAddresses(t, 1)[0], options...)
	p.Start(t)
	t.Cleanup(func() { p.stop(t) })
	for deadline := time.Now().Add(startTimeout); !p.wasReady(); time.Sleep(5 * time.Millisecond) {
		if is, _ := p.Running(); !is {
			t.Fatal("the server ended before it was ready")
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server was not ready within %v", startTimeout)
		}
	}
	return p
}

// wasReady reports whether the log says so.
func (p *Process) wasReady() bool {
	text, _ := os.ReadFile(p.log())
	return strings.HasPrefix(string(text), "ready") || strings.Contains(string(text), "\nready")
}

// stop sends SIGTERM, and fails the test unless the server ends with status 0.
func (p *Process) stop(t testing.TB) {
	if err := p.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if _, state := p.Running(); !state.Success() {
		t.Errorf("the server ended with %v", state)
	}
	if t.Failed() {
		text, _ := os.ReadFile(p.log())
		t.Logf("the server's output:\n%s", text)
	}
}
