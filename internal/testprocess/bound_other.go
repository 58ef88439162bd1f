//go:build unix && !linux

package testprocess

import "syscall"

// bound does not bind the child to this process where there is no way to: it outlives this process if that is killed.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
