package testprocess

import "syscall"

// bound has the system kill the child when this process ends, however it does. (More exactly, when the thread that
// started the child ends. Go ends threads only with goroutines that have locked them.)
func bound() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
