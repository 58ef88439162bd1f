//go:build installed

package installed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testprocess"
	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// machine is a Debian system that systemd has booted, with a network of its own, or with another machine's.
type machine struct {
	root      string
	network   *machine // nil for its own
	container *testserver.Process
	init      string // the process id of its systemd, as seen from outside
}

// boot boots a copy of the system at -debian. The machine ends with the test.
func boot(t *testing.T) *machine { return bootIn(t, nil) }

// bootIn is boot with the network of another machine.
func bootIn(t *testing.T, network *machine) *machine {
	t.Helper()
	m := &machine{root: filepath.Join(t.TempDir(), "root"), network: network}
	output(t, "cp", "--archive", "--reflink=auto", *debian, m.root)
	t.Cleanup(func() {
		if t.Failed() && m.init != "" {
			ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit) // the test's has ended
			defer cancel()
			out, _ := m.command(ctx, "journalctl --no-pager --lines 30 --unit stint").CombinedOutput()
			t.Logf("the unit's journal:\n%s", out)
		}
		m.kill(t)
	})
	m.start(t)
	return m
}

// start boots the machine, again after kill.
func (m *machine) start(t *testing.T) {
	t.Helper()
	// systemd-nspawn is the first process of a namespace: all end with it, and it ends with the test.
	boot := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
		"systemd-nspawn", "--quiet", "--directory", m.root, "--boot", "--machine", "stint-test", "--register=no", "--keep-unit"}
	if m.network == nil {
		boot = append(boot, "--private-network")
	} else {
		boot = append([]string{"nsenter", "--target", m.network.init, "--net"}, boot...)
	}
	m.container = testserver.NewProcess(t, boot[0], boot[1:]...)
	m.container.Start(t)
	m.container.Await(t, "systemd has started", func() bool {
		m.init = child(child(strconv.Itoa(m.container.Pid())))
		if m.init == "" {
			return false
		}
		out, _ := m.try(t, "systemctl is-system-running")
		return strings.TrimSpace(out) == "running"
	})
}

// kill ends all processes of the machine at once.
func (m *machine) kill(t *testing.T) {
	_ = m.container.End(syscall.SIGKILL)
	testwait.Until(t, "the machine is gone", func() bool { return m.init == "" || !exists("/proc/"+m.init) })
}

// child is the one child of a process, "" without one.
func child(pid string) string {
	children, _ := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
	return strings.TrimSpace(string(children))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// command is one of the shell in the machine.
func (m *machine) command(ctx context.Context, text string) *exec.Cmd {
	enter := testprocess.Command(ctx, "nsenter", "--target", m.init, "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "/bin/sh", "-c", text)
	enter.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"}
	return enter
}

// try runs a command.
func (m *machine) try(t *testing.T, command string) (string, error) {
	t.Helper()
	out, err := m.command(testserver.Context(t), command).CombinedOutput()
	return string(out), err
}

// run is try for a command that must succeed.
func (m *machine) run(t *testing.T, command string) string {
	t.Helper()
	out, err := m.try(t, command)
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return out
}

// await waits until a command prints a text.
func (m *machine) await(t *testing.T, command, want string) {
	t.Helper()
	testwait.UntilNil(t, fmt.Sprintf("%s prints %q", command, want), func() error {
		out, err := m.try(t, command)
		if err != nil || !strings.Contains(out, want) {
			return fmt.Errorf("%w: %s", errors.Join(errNotYet, err), out)
		}
		return nil
	})
}

// copyIn puts a file into the machine's folder /root.
func (m *machine) copyIn(t *testing.T, file string) (path string) {
	t.Helper()
	path = "/root/" + filepath.Base(file)
	output(t, "cp", file, filepath.Join(m.root, path))
	return path
}

var errNotYet = errors.New("not yet")
