// Package servertest runs Stint servers for the tests of the Go client. It builds them from this checkout.
package servertest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stintdb/stint/clients/go/internal/testprocess"
)

// Bounds of waits that a test would otherwise not end. A busy machine needs seconds.
const (
	startTimeout = time.Minute
	stopTimeout  = 30 * time.Second
)

// A Server is a process of Stint.
type Server struct {
	Address string // chosen by the server
	command *exec.Cmd
	ended   chan struct{}
	mu      sync.Mutex
	log     strings.Builder
}

var binary struct {
	sync.Once
	path   string
	folder string // in which it was built
	err    error
}

// Binary is the server in SERVER_BINARY, or one that is built once for each test program.
func Binary() (string, error) {
	binary.Do(func() {
		if binary.path = os.Getenv("SERVER_BINARY"); binary.path != "" {
			return
		}
		var root string
		if root, binary.err = findRoot(); binary.err != nil {
			return
		}
		if binary.folder, binary.err = os.MkdirTemp("", "stint-client-test"); binary.err != nil {
			return
		}
		binary.path = filepath.Join(binary.folder, "stint")
		command := exec.Command("go", "build", "-o", binary.path, "./cmd/stint")
		command.Dir = root
		testprocess.EndWithParent(command)
		if output, err := command.CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("%s: %w\n%s", command, err, output)
		}
	})
	return binary.path, binary.err
}

// findRoot looks for the folder with the server's source, here or above.
func findRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "cmd", "stint")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no cmd/stint in %s or above: these tests need the whole repository", folder)
		}
	}
}

// Clean removes the built server. Call it at the end of TestMain.
func Clean() {
	if binary.folder != "" {
		os.RemoveAll(binary.folder)
	}
}

// Start starts a server on a loopback port of its choice and waits until it is ready.
func Start(flags ...string) (*Server, error) { return StartAt("127.0.0.1:0", flags...) }

// StartAt starts a server on an address and waits until it is ready.
func StartAt(address string, flags ...string) (*Server, error) {
	path, err := Binary()
	if err != nil {
		return nil, err
	}
	s := &Server{ended: make(chan struct{})}
	s.command = exec.Command(path, append([]string{"server", "--listen", address, "--admin", ""}, flags...)...)
	testprocess.EndWithParent(s.command)
	output, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.command.Stderr = s.command.Stdout
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go s.follow(bufio.NewScanner(output), ready)
	select {
	case <-ready:
		return s, nil
	case <-s.ended:
		_ = s.command.Wait()
		return nil, fmt.Errorf("the server ended before it was ready:\n%s", s.Log())
	case <-time.After(startTimeout):
		s.Kill()
		return nil, fmt.Errorf("the server was not ready within %v:\n%s", startTimeout, s.Log())
	}
}

func (s *Server) follow(lines *bufio.Scanner, ready chan<- struct{}) {
	defer close(s.ended)
	for lines.Scan() {
		s.mu.Lock()
		s.log.WriteString(lines.Text() + "\n")
		s.mu.Unlock()
		if address, is := testprocess.ReadyAt(lines.Text()); is && s.Address == "" {
			s.Address = address
			close(ready)
		}
	}
}

// Log is the server's output.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// Kill ends the process at once. Stop ends it by a signal.
func (s *Server) Kill() {
	_ = s.command.Process.Kill()
	<-s.ended
	_ = s.command.Wait()
}

// Pause stops the process with SIGSTOP, and returns when all its threads have stopped: its connections stay open and
// nothing answers.
func (s *Server) Pause() error {
	if err := s.command.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(stopTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if s.stopped() {
			return nil
		}
	}
	return fmt.Errorf("the server still runs %v after SIGSTOP", stopTimeout)
}

func (s *Server) stopped() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.command.Process.Pid))
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err == nil && !strings.Contains(string(stat), ") T ") {
			return false
		}
	}
	return len(threads) > 0
}

// Resume lets it go on.
func (s *Server) Resume() error { return s.command.Process.Signal(syscall.SIGCONT) }

// Stop sends the server SIGTERM and waits for its end.
func (s *Server) Stop() error {
	_ = s.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(stopTimeout):
		s.Kill()
		return fmt.Errorf("the server has not stopped within %v of SIGTERM", stopTimeout)
	}
	return s.command.Wait()
}

// answers reports whether a server answers PING.
func answers(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	return err == nil && line == "+PONG\r\n"
}
