package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
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
	p := &process{exec.Command(argv[0], argv[1:]...), make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // its error is expected: the process is killed
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

var (
	portsMu sync.Mutex
	portsOf = map[int]bool{} // handed out in this run
)

// freePorts finds ports below those that systems give to outgoing connections.
func freePorts(n int) (ports []string, err error) {
	portsMu.Lock()
	defer portsMu.Unlock()
	for tries := 0; len(ports) < n; tries++ {
		if tries > 1000 {
			return nil, errors.New("no free ports")
		}
		port := 12_000 + rand.IntN(18_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil || portsOf[port] {
			continue
		}
		_ = l.Close()
		portsOf[port] = true
		ports = append(ports, strconv.Itoa(port))
	}
	return ports, nil
}

const startTimeout = 30 * time.Second
