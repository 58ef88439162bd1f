//go:build !linux

package testprocess

import "os/exec"

// EndWithParent does nothing: only Linux can end a process with its parent.
func EndWithParent(*exec.Cmd) {}
