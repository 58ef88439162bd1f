package stinttest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/testprocess"
)

// BinaryVariable is the environment variable with the path of the server for [Start]. Without it, stint is looked up in
// PATH.
const BinaryVariable = "STINTTEST_BINARY"

// startTimeout bounds the time until a started server takes connections.
const startTimeout = time.Minute

// Start starts a Stint server on a loopback port of its choice, with its data in memory, and returns its address. The
// server ends with the test. The test fails if there is no server to start: see [BinaryVariable]. flags are those of
// stint server.
func Start(t testing.TB, flags ...string) (address string) {
	t.Helper()
	path, err := exec.LookPath(binary())
	if err != nil {
		t.Fatalf("stinttest.Start: there is no server to start: %v; set %s to its path, or put stint into PATH", err, BinaryVariable)
	}
	if path, err = filepath.Abs(path); err != nil {
		t.Fatalf("stinttest.Start: %v", err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "stint.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(path, append([]string{"server", "--listen", "127.0.0.1:0", "--admin", ""}, flags...)...)
	command.Stdout, command.Stderr = log, log
	testprocess.EndWithParent(command) // a test that panics does not clean up
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
	address, err = readyAt(log.Name(), ended)
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("stinttest.Start: %s %v:\n%s", path, err, text)
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

// readyAt waits until the log of a server says that it takes connections, and returns the address that it has chosen.
func readyAt(log string, ended <-chan struct{}) (address string, err error) {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case <-ended:
			return "", errors.New("ended")
		default:
		}
		text, _ := os.ReadFile(log)
		for line := range strings.Lines(string(text)) {
			if address, is := testprocess.ReadyAt(line); is && strings.HasSuffix(line, "\n") {
				return address, nil
			}
		}
	}
	return "", fmt.Errorf("took no connections within %v", startTimeout)
}
