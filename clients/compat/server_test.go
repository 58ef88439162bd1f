package compat

import (
	"bufio"
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

// startServer builds the server, starts it, and returns its address; the test's end stops it.
func startServer(t *testing.T) (address string) {
	binary, err := filepath.Abs(filepath.Join("build", "stint"))
	if err != nil {
		t.Fatal(err)
	}
	build := command(t, "go", "build", "-o", binary, "./cmd/stint")
	build.Dir = filepath.Join("..", "..")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}

	address = freeAddress(t)
	server := exec.Command(binary, "server", "--listen", address, "--admin", freeAddress(t))
	server.Dir = t.TempDir()
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
		announced := false
		for lines := bufio.NewScanner(output); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if !announced && strings.Contains(lines.Text(), "ready") {
				announced = true
				close(ready)
			}
		}
	}()
	t.Cleanup(func() { stopServer(t, server, ended, &log) })

	select {
	case <-ready:
	case <-ended:
		t.Fatal("the server ended before it was ready")
	case <-time.After(startTimeout):
		t.Fatalf("the server has not said that it is ready within %v", startTimeout)
	}
	return address
}

// stopServer asks the server to stop, and fails the test unless it then ends by itself and well.
func stopServer(t *testing.T, server *exec.Cmd, ended <-chan struct{}, log *strings.Builder) {
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	select {
	case <-ended:
	case <-time.After(stopTimeout):
		t.Errorf("the server has not stopped within %v of SIGTERM", stopTimeout)
		if err := server.Process.Signal(os.Kill); err != nil {
			t.Errorf("kill: %v", err)
		}
		<-ended
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if t.Failed() {
		t.Logf("the server's output:\n%s", log)
	}
}

// freeAddress is a loopback address that nothing listens on.
func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
