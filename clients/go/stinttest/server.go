package stinttest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

// BinaryVariable is the environment variable with the path of the server for [Start]. Without it, stint is looked up in
// PATH.
const BinaryVariable = "STINTTEST_BINARY"

// startTimeout bounds the time until a started server takes connections.
const startTimeout = 30 * time.Second

// Start starts a Stint server on a free loopback port, with its data in memory, and returns its address. The server ends
// with the test. The test fails if there is no server to start: see [BinaryVariable]. flags are those of stint server.
func Start(t testing.TB, flags ...string) (address string) {
	t.Helper()
	path, err := exec.LookPath(binary())
	if err != nil {
		t.Fatalf("stinttest.Start: there is no server to start: %v; set %s to its path, or put stint into PATH", err, BinaryVariable)
	}
	if path, err = filepath.Abs(path); err != nil {
		t.Fatalf("stinttest.Start: %v", err)
	}
	address = freeAddress(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "stint.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(path, append([]string{"server", "--listen", address, "--admin", ""}, flags...)...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatalf("stinttest.Start: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // it ends because it is killed
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
	})
	if !isReady(address, ended) {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("stinttest.Start: %s took no connections within %v:\n%s", path, startTimeout, text)
	}
	return address
}

// Connect starts a server and returns a limiter on it, which is closed with the test.
func Connect(t testing.TB, whenDown stint.Policy, options ...stint.Option) *stint.Limiter {
	t.Helper()
	l := stint.Connect([]string{Start(t)}, whenDown, append([]stint.Option{stint.Timeout(patient)}, options...)...)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func binary() string {
	if path := os.Getenv(BinaryVariable); path != "" {
		return path
	}
	return "stint"
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("stinttest.Start: %v", err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// isReady waits until a server takes connections, and reports whether it does.
func isReady(address string, ended <-chan struct{}) bool {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			c.Close()
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return false
}
