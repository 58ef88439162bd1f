package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/stintdb/stint/internal/testaddress"
	"github.com/stintdb/stint/internal/testprocess"
)

// An Instance is a running server: processes of ours, or (for -other) the address of one that was already running.
type Instance struct {
	Addr      string
	Nodes     []string // addresses of all nodes of a cluster; Addr is the address of its leader
	links     []*slowLink
	processes []*process
	launch    func(ctx context.Context, number int) (*process, error) // runs a node of a cluster
	dir       string                                                  // removed when it stops, if not empty
	otherPID  int                                                     // 0: not known
}

// PIDs lists the processes whose CPU and memory count as the server's.
func (i *Instance) PIDs() []int {
	var pids []int
	for _, p := range i.processes {
		pids = append(pids, p.cmd.Process.Pid)
	}
	if i.otherPID != 0 {
		pids = append(pids, i.otherPID)
	}
	return pids
}

// Died returns an error when a process that we started has ended early.
func (i *Instance) Died() error {
	for _, p := range i.processes {
		select {
		case <-p.ended:
			return fmt.Errorf("%s died (%v); its last lines:\n%s", p.name, p.cmd.ProcessState, p.log.lastLines())
		default:
		}
	}
	return nil
}

// onDeath calls f as soon as a process of ours has ended, until ctx is done.
func (i *Instance) onDeath(ctx context.Context, f func()) {
	for _, p := range i.processes {
		go func() {
			select {
			case <-p.ended:
				f()
			case <-ctx.Done():
			}
		}()
	}
}

// entrances is where the clients of a load on all nodes connect: as many addresses as a cluster has nodes. One server
// has as many clients, so that the load is the same.
func (i *Instance) entrances() []string {
	if len(i.Nodes) > 0 {
		return i.Nodes
	}
	return slices.Repeat([]string{i.Addr}, nodes)
}

// Stop ends the processes that we started, and no others.
func (i *Instance) Stop() {
	for _, l := range i.links {
		l.stop()
	}
	for _, p := range i.processes {
		p.stop()
	}
	if i.dir != "" {
		_ = os.RemoveAll(i.dir) // git ignores its folder
	}
}

type process struct {
	name  string
	cmd   *exec.Cmd
	log   *processLog
	ended chan struct{}
}

const (
	readyTimeout = 5 * time.Minute // a hundred million keys are recovered before it
	stopTimeout  = 10 * time.Second
)

// startProcess runs a server, its output going to out/NAME.log, and waits
// until it is ready.
func startProcess(ctx context.Context, name string, env []string, argv ...string) (*process, error) {
	file, err := os.Create(filepath.Join(outDir, name+".log"))
	if err != nil {
		return nil, err
	}
	p := &process{
		name:  name,
		cmd:   testprocess.Command(ctx, argv[0], argv[1:]...),
		log:   newProcessLog(file),
		ended: make(chan struct{}),
	}
	p.cmd.Dir = outDir // git ignores this folder, if the server writes files
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = stopTimeout
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), file.Close())
	}
	go func() {
		_ = testprocess.Wait(p.cmd) // ProcessState has its exit status
		_ = file.Close()
		close(p.ended)
	}()

	select {
	case <-p.log.ready:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("%s ended before it was ready (%v):\n%s", name, p.cmd.ProcessState, p.log.lastLines())
	case <-time.After(readyTimeout):
		p.stop()
		return nil, fmt.Errorf("%s did not print a line containing \"ready\" within %s:\n%s", name, readyTimeout, p.log.lastLines())
	}
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has already ended
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		_ = testprocess.KillGroup(p.cmd)
		<-p.ended // within stopTimeout, which is also the bound of its output
	}
}

// kill ends the process at once, as the loss of its machine would.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // an error means that it has already ended
	<-p.ended
}

// reservePort returns a loopback port that the system gives to nobody else before the end of this process.
func reservePort() (string, error) {
	address, _, err := testaddress.Reserve()
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(address)
	return port, err
}
