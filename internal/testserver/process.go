package testserver

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a server that can be ended, and started again with the same options in the same directory. All of its runs
// write one log.
type Process struct {
	Address string // where clients reach it
	Dir     string // where it runs

	program string
	options []string

	mu    sync.Mutex
	cmd   *exec.Cmd     // nil before the first run
	ended chan struct{} // closed when the process has ended
}

// NewProcess describes a server at an address for clients, in a new directory and with no settings but the options.
func NewProcess(t testing.TB, program, address string, options ...string) *Process {
	return &Process{Address: address, Dir: t.TempDir(), program: program, options: append([]string{"server", "--listen", address}, options...)}
}

// Start starts the process. It does not wait until it serves.
func (p *Process) Start(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd, ended := exec.Command(p.program, p.options...), make(chan struct{})
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.Dir, withoutSettings(os.Environ()), log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.cmd, p.ended = cmd, ended
	p.mu.Unlock()
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(ended)
	}()
}

func (p *Process) current() (*exec.Cmd, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd, p.ended
}

// Signal sends the process a signal, which does nothing if it has ended or was not started.
func (p *Process) Signal(s syscall.Signal) {
	if cmd, _ := p.current(); cmd != nil {
		_ = cmd.Process.Signal(s)
	}
}

// End sends the process a signal and waits until it has ended. If that takes too long it kills it and returns an error.
func (p *Process) End(how syscall.Signal) error {
	cmd, ended := p.current()
	if cmd == nil {
		return nil
	}
	p.Signal(how)
	select {
	case <-ended:
		return nil
	case <-time.After(endTimeout):
		_ = cmd.Process.Kill()
		<-ended
		return fmt.Errorf("the server has not ended within %v of %v", endTimeout, how)
	}
}

const endTimeout = 20 * time.Second

// Running reports whether the process has not ended, and how it did otherwise.
func (p *Process) Running() (is bool, state *os.ProcessState) {
	cmd, ended := p.current()
	select {
	case <-ended:
		return false, cmd.ProcessState
	default:
		return true, nil
	}
}

func (p *Process) log() string { return filepath.Join(p.Dir, "server.log") }

// LastLines is the end of the log.
func (p *Process) LastLines() string {
	text, _ := os.ReadFile(p.log())
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-25):], []byte("\n")))
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

// FreeAddresses are different loopback addresses on which nobody listens. No outgoing connection takes their ports while a
// server is down: they lie below those that systems hand out.
func FreeAddresses(t testing.TB, count int) (addresses []string) {
	t.Helper()
	for tries := 0; len(addresses) < count; tries++ {
		if tries > 1000 {
			t.Fatal("no free ports")
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(18_000)))
		if err != nil {
			continue
		}
		defer l.Close() // until all are found, so that they differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}
