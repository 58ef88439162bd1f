package testserver

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testprocess"
)

// reporting is how long before the end of go test's patience a command is killed, so that the test can report its
// output.
const reporting = 10 * time.Second

// Context is the test's, but ends when go test is about to give up.
func Context(t testing.TB) context.Context {
	timed, is := t.(interface{ Deadline() (time.Time, bool) })
	if !is { // a benchmark
		return t.Context()
	}
	deadline, is := timed.Deadline()
	if !is {
		return t.Context()
	}
	early := min(reporting, time.Until(deadline)/2)
	ctx, cancel := context.WithDeadline(t.Context(), deadline.Add(-early))
	t.Cleanup(cancel)
	return ctx
}

// Command is a command that ends with the test, however the test ends, with the processes that it has started: see
// [testprocess.Command]. It is killed when [Context] ends. Servers are a [Process] instead.
func Command(t testing.TB, name string, args ...string) *exec.Cmd {
	ctx := Context(t)
	cmd := testprocess.Command(ctx, name, args...)
	cmd.Cancel = func() error {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Logf("%s is killed: it has not ended, and go test is about to give up", cmd)
		}
		return testprocess.KillGroup(cmd)
	}
	return cmd
}
