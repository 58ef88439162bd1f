package testprocess

import (
	"os/exec"
	"syscall"
)

// bound does not bind the child to this process: it outlives this process if that is killed.
func bound() *syscall.SysProcAttr { return nil }

// killGroup kills the process alone, because Windows has no process groups that end together.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
