package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A Redis is a process of redis-server, for comparison.
type Redis struct {
	Address string
	command *exec.Cmd
	folder  string
}

// StartRedis starts redis-server on a free loopback port, with nothing kept on disk, and waits until it answers.
func StartRedis(arguments ...string) (*Redis, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server is not installed; on Debian and Ubuntu: apt-get install redis-server: %w", err)
	}
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "redis")
	if err != nil {
		return nil, err
	}
	port := address[len("127.0.0.1:"):]
	r := &Redis{Address: address, folder: folder}
	r.command = exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder}, arguments...)...)
	r.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.command.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if answers(address) {
			return r, nil
		}
	}
	r.Kill()
	return nil, fmt.Errorf("redis-server has not answered within %v", startTimeout)
}

// Kill ends the process and removes its folder.
func (r *Redis) Kill() {
	_ = r.command.Process.Kill()
	_ = r.command.Wait()
	os.RemoveAll(r.folder)
}

// Process is the server's.
func (r *Redis) Process() *os.Process { return r.command.Process }
