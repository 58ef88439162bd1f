package testserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testprocess"
)

// endTimeout bounds the wait for the end of a process. It is only reached when a test fails.
const endTimeout = 20 * time.Second

// Process is a program that runs until it is ended, or the test ends. It can be started again with the same arguments
// in the same directory. All of its runs write one log.
type Process struct {
	Address string   // where clients reach it, if it is a server of this checkout
	Dir     string   // where it runs: a new directory
	Env     []string // its environment; if nil, the environment of the tests without the settings of a server

	Files []*os.File // that it inherits, from descriptor 3

	program string
	args    []string
	log     string // the file

	mu    sync.Mutex
	cmd   *exec.Cmd     // nil before the first run
	ended chan struct{} // closed when the process has ended
	begin int64         // of the current run's output in the log
}

// NewProcess describes a program with its arguments.
func NewProcess(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	p := &Process{Dir: t.TempDir(), program: program, args: args, log: filepath.Join(t.TempDir(), "log")}
	t.Cleanup(func() {
		if err := p.End(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the last output of %s %s:\n%s", filepath.Base(program), p.Address, p.LastLines())
		}
	})
	return p
}

// Run starts a program that runs until the test's end.
func Run(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	p := NewProcess(t, program, args...)
	p.Start(t)
	return p
}

// Start starts the process. It does not wait until it serves.
func (p *Process) Start(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		t.Fatal(err)
	}
	cmd, ended := testprocess.Command(context.Background(), p.program, p.args...), make(chan struct{})
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.Dir, p.Env, log, log
	cmd.ExtraFiles = p.Files
	if cmd.Env == nil {
		cmd.Env = withoutSettings(os.Environ())
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.cmd, p.ended, p.begin = cmd, ended, before.Size()
	p.mu.Unlock()
	go func() {
		_ = testprocess.Wait(cmd) // how it ended is in ProcessState
		close(ended)
	}()
}

func (p *Process) current() (*exec.Cmd, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd, p.ended
}

// Pid is the number of the process that was started last.
func (p *Process) Pid() int {
	cmd, _ := p.current()
	return cmd.Process.Pid
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
	}
	_ = testprocess.KillGroup(cmd)
	select {
	case <-ended:
		return fmt.Errorf("%s has not ended within %v of %v", p.program, endTimeout, how)
	case <-time.After(endTimeout):
		return fmt.Errorf("%s has not ended within %v of %v, nor of SIGKILL", p.program, endTimeout, how)
	}
}

// Stop sends SIGTERM, and fails the test unless the process ends with status 0.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	if err := p.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	} else if _, state := p.Running(); !state.Success() {
		t.Errorf("%s ended with %v", p.program, state)
	}
}

// Running reports whether the process is running, and if not, how it ended.
func (p *Process) Running() (is bool, state *os.ProcessState) {
	cmd, ended := p.current()
	select {
	case <-ended:
		return false, cmd.ProcessState
	default:
		return true, nil
	}
}

// Output is the output of the process since it was started last.
func (p *Process) Output() string {
	text, _ := os.ReadFile(p.log)
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(text[min(p.begin, int64(len(text))):])
}

// LastLines is the end of the log.
func (p *Process) LastLines() string {
	text, _ := os.ReadFile(p.log)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-50):], []byte("\n")))
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
