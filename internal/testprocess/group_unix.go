//go:build unix

package testprocess

import (
	"os/exec"
	"syscall"
)

// killGroup kills the process group that a process led.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
