package testprocess

import (
	"os/exec"
	"syscall"
)

// EndWithParent makes a process that is not started yet end with this one, however this one ends.
func EndWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
