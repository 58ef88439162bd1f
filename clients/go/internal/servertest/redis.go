package servertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/stintdb/stint/clients/go/internal/testprocess"
)

// A Redis is a process of redis-server, for comparison.
type Redis struct {
	Address string
	command *exec.Cmd
	folder  string
	release func() // of the address
}

// StartRedis starts redis-server on a loopback port, with nothing kept on disk, and waits until it answers.
func StartRedis(arguments ...string) (*Redis, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server is not installed; on Debian and Ubuntu: apt-get install redis-server: %w", err)
	}
	folder, err := os.MkdirTemp("", "redis")
	if err != nil {
		return nil, err
	}
	r := &Redis{folder: folder}
	if r.Address, r.release, err = Reserve(); err != nil { // redis-server cannot choose a port
		os.RemoveAll(folder)
		return nil, err
	}
	_, port, _ := net.SplitHostPort(r.Address)
	r.command = exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder}, arguments...)...)
	testprocess.EndWithParent(r.command)
	if err := r.command.Start(); err != nil {
		r.Kill()
		return nil, err
	}
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if answers(r.Address) {
			return r, nil
		}
	}
	r.Kill()
	return nil, fmt.Errorf("redis-server has not answered within %v", startTimeout)
}

// Kill ends the process and removes its folder.
func (r *Redis) Kill() {
	if r.command.Process != nil {
		_ = r.command.Process.Kill()
		_ = r.command.Wait()
	}
	r.release()
	os.RemoveAll(r.folder)
}
