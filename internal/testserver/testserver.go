// Package testserver builds and runs the server of this checkout, and other programs, for tests from outside. Nothing
// that it starts outlives the test.
package testserver

import (
	"os"
	"path/filepath"
	"testing"
)

// Build returns the path of this checkout's server: that in SERVER_BINARY, which .ci/run builds once, or one that it
// builds from the checkout's root.
func Build(t testing.TB, root string) (program string) {
	t.Helper()
	if program = os.Getenv("SERVER_BINARY"); program != "" {
		return program
	}
	return BuildFrom(t, root)
}

// BuildFrom builds the server from any checkout, given by its root, and returns the program's path.
func BuildFrom(t testing.TB, root string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "stint")
	build := Command(t, "go", "build", "-o", program, "./cmd/stint")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	return program
}

// Start starts a server that chooses a port of the loopback interface, in a new directory and with no settings but the
// options, and returns its address once it is ready. The test's end stops it, and fails the test unless it ends well.
func Start(t testing.TB, program string, options ...string) (address string) {
	t.Helper()
	return StartServer(t, program, options...).Address
}

// StartServer is Start for tests that need more than the address. The server would choose another port if it were
// started again: [NewServer] is for that.
func StartServer(t testing.TB, program string, options ...string) *Process {
	t.Helper()
	p := NewProcess(t, program, append([]string{"server", "--listen", "127.0.0.1:0"}, options...)...)
	p.Start(t)
	t.Cleanup(func() { p.Stop(t) })
	p.Address = p.AwaitReady(t)[0]
	return p
}

// NewServer describes a server with no settings but the options, at an address for clients that stays when it is
// started again.
func NewServer(t testing.TB, program string, options ...string) *Process {
	t.Helper()
	address := ReserveAddress(t)
	p := NewProcess(t, program, append([]string{"server", "--listen", address}, options...)...)
	p.Address = address
	return p
}
