// Package testprocess starts processes that do not outlive the one that starts them.
package testprocess

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// outputDelay is how long the output of a process that has ended may stay open: a process that it left behind holds it.
const outputDelay = 5 * time.Second

// Command is [exec.CommandContext] for a process that does not outlive this one. It leads a process group, and the end
// of the context kills the whole group: also the processes of a shell, npm or go run. Once it has ended, Wait waits no
// longer than some seconds for the end of its output.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = bound()
	cmd.Cancel = func() error { return KillGroup(cmd) }
	cmd.WaitDelay = outputDelay
	return cmd
}

// KillGroup kills a process that [Command] has started, and its group. It does nothing if the process has
// ended and was waited for, because another one may have its number by then.
func KillGroup(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		return err
	}
	return killGroup(cmd)
}

// Wait waits until a process that [Command] has started has ended, and kills processes of its group that it has left
// behind.
func Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	_ = killGroup(cmd) // an error means that there are none
	return err
}
