package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/stintdb/stint/internal/child"
	"github.com/stintdb/stint/internal/loopback"
)

// process is a server of ours.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// start runs a program in a separate directory, its output going to a file there.
func start(dir string, argv ...string) (*process, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{child.Command(context.Background(), argv[0], argv[1:]...), make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = child.Wait(p.cmd) // its error is expected: the process is killed
		close(p.ended)
	}()
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // an error means that it has already ended
	<-p.ended
}

func killAll(processes []*process) {
	for _, p := range processes {
		p.kill()
	}
}

// reservePorts returns ports that the system gives to nobody else before the end of this process.
func reservePorts(n int) (ports []string, err error) {
	for range n {
		address, _, err := loopback.Reserve()
		if err != nil {
			return nil, err
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

const startTimeout = 30 * time.Second
