//go:build e2e

package main

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testwait"
)

// A sidecar decides from tokens of home, under policies of home too. Its tokens go back at its end; after a kill, they
// count as spent at the end of the loan.
func TestSidecar(t *testing.T) {
	home := launch(t, asServer, "server", "--listen", "127.0.0.1:0", "--admin=")
	socket := filepath.Join(t.TempDir(), "s")
	args := []string{"sidecar", "--home", home.address, "--listen", "127.0.0.1:0", "--listen", "unix:" + socket, "--upstream-policies", "api*"}
	beside := launch(t, asServer, args...)
	if conn, err := net.Dial("unix", socket); err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	ask(t, home.address, "RL.POLICY SET api TB user:{} 100 1/h TB everybody 100000 1/h")
	ask(t, home.address, "RL.POLICY OVERRIDE api boss TB user:{} 900 1/h")
	ask(t, home.address, "RL.POLICY SET api-first SW user:{} 5 1h") // which cannot be lent
	ask(t, home.address, "RL.POLICY SET other TB user:{} 1 1/h")
	testwait.Until(t, "the policy of home is known", func() bool {
		return strings.Contains(ask(t, beside.address, "RL.POLICY GET api boss"), "user:{} 900 1/1h")
	})
	if got := ask(t, beside.address, "RL.POLICY LIST"); got != `["api"]` {
		t.Errorf("policies %s", got)
	}
	beside.AwaitOutput(t, regexp.MustCompile(`could not copy the policies .*policy .+api-first`))
	ask(t, home.address, "RL.POLICY DEL api-first")
	for _, step := range []struct{ command, want string }{
		{"RL.CHECK api boss 500", "[500 -1 0 [[900 400 "},
		{"RL.CHECK api boss 500", "[0 0 "},
		{"TB.ACQUIRE user:boss 900 1/h 401", "[0 "},
		{"TB.ACQUIRE user:1 100 1/h 40", "[40 100 60 "},
		{"SET x y", "-ERR "},
	} {
		if got := askLine(t, beside.address, step.command); !strings.HasPrefix(got, step.want) {
			t.Errorf("%s: %s, want %s", step.command, got, step.want)
		}
	}
	ask(t, home.address, "RL.POLICY DEL api")
	testwait.Until(t, "the policy is gone", func() bool { return ask(t, beside.address, "RL.POLICY LIST") == "[]" })

	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		key := strings.ReplaceAll(how.String(), " ", "-")
		testwait.Until(t, "tokens are lent", func() bool {
			ask(t, beside.address, "TB.ACQUIRE "+key+" 10000 1/h")
			return strings.Contains(ask(t, home.address, "RL.LENT "+key), "server-")
		})
		beside.end(how)
		if lent := ask(t, home.address, "RL.LENT "+key); (lent != "[]") != (how == syscall.SIGKILL) || strings.Contains(lent, " -1]") {
			t.Errorf("%v: lent are %s", how, lent)
		}
		if how == syscall.SIGKILL {
			beside = launch(t, asServer, args...)
		}
	}
}

// A sidecar without a home says what it needs. Errors name the flag that was given.
func TestSidecarNeedsHome(t *testing.T) {
	code, _, stderr := play(t, "sidecar")
	if want := "stint: a sidecar needs the server that has the limits: name it with --home HOST:PORT\n"; code != exitUsage || stderr != want {
		t.Errorf("exit %d, %q", code, stderr)
	}
	for wrong, want := range map[string]string{
		"--home=a":     "stint: --home: must be HOST:PORT",
		"--home":       "stint: --home needs a value: --home ADDRESSES\n",
		"--home=,":     "stint: --home: must be HOST:PORT",
		"--upstream=a": "stint: --upstream: must be HOST:PORT",
	} {
		if code, _, stderr := play(t, "sidecar", wrong); code != exitUsage || !strings.HasPrefix(stderr, want) {
			t.Errorf("%s: exit %d, %q", wrong, code, stderr)
		}
	}
	if code, stdout, _ := play(t, "sidecar", "--help"); code != exitOK || !strings.HasPrefix(stdout, "Usage: stint sidecar --home") {
		t.Errorf("exit %d, %q", code, stdout)
	}
}
