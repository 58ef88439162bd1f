package testserver

import (
	"regexp"
	"strconv"
	"syscall"
	"testing"
)

// The output of an earlier run counts no more.
func TestProcessIsStartedAgain(t *testing.T) {
	p := Run(t, "sh", "-c", "echo process $$ is here; exec sleep 1000")
	for range 3 {
		here := p.AwaitOutput(t, regexp.MustCompile(`process (\d+) is here\n`))
		if here[1] != strconv.Itoa(p.Pid()) {
			t.Errorf("process %d is said to be %s", p.Pid(), here[1])
		}
		if err := p.End(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if is, state := p.Running(); is || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
			t.Errorf("after its end: %t, %v", is, state)
		}
		p.Start(t)
	}
}
