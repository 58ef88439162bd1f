//go:build installed

package installed

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// docker is the daemon of a test, with its state in the test's folder.
type docker struct {
	address string
	daemon  *testserver.Process
}

// startDocker starts a daemon that leaves the machine's network alone, in other namespaces than the machine's: the
// namespace of processes, and those given, such as --net, with which it has a bridge for the ports of containers. It ends
// with the test, and with it all of its containers.
func startDocker(t *testing.T, namespaces ...string) docker {
	t.Helper()
	folder := t.TempDir()
	d := docker{address: "unix://" + filepath.Join(folder, "socket")}
	in := func(name string) string { return filepath.Join(folder, name) }
	bridge := "none"
	if slices.Contains(namespaces, "--net") {
		bridge = "" // the usual bridge
	}
	// It is the first process of a namespace, so all processes in it end with it.
	d.daemon = testserver.NewProcess(t, "unshare", append(namespaces, "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", `ip link set lo up && exec dockerd "$@"`, "dockerd",
		"--host", d.address, "--data-root", in("data"), "--exec-root", in("exec"), "--pidfile", in("pid"), "--storage-driver", "vfs", "--iptables=false", "--ip6tables=false", "--bridge="+bridge)...)
	d.daemon.Start(t)
	d.daemon.AwaitConnections(t, "unix", in("socket"))
	return d
}

// load loads the image of the release under a name.
func (d docker) load(t *testing.T, name string) (version string) {
	t.Helper()
	archive := part(t, "stint_*_docker_"+runtime.GOARCH+".tar")
	version = versionOf(archive)
	d.run(t, "load", "--input", archive)
	d.run(t, "tag", "stint:"+version, name)
	return version
}

// run runs a command of docker, which must succeed.
func (d docker) run(t *testing.T, args ...string) string {
	t.Helper()
	return d.runAs(t, "docker", args...)
}

// runAs runs a program that talks with the daemon, and must succeed.
func (d docker) runAs(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := d.try(t, program, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return out
}

func (d docker) try(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	cmd := testserver.Command(t, program, args...)
	cmd.Env = d.environment(t)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// environment has what programs need that talk with the daemon, and what the compose files ask for.
func (d docker) environment(t *testing.T) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "DOCKER_HOST=" + d.address, "DOCKER_API_VERSION=1.41", // the version of Debian's daemon, which may be older than the command
		"HOME=" + t.TempDir(), "STINT_PASSWORD=" + password, "STINT_TOKEN=token", "STINT_SECRET=" + strings.Repeat("0123456789abcdef", 4)}
}

// handbook is the text of a page.
func handbook(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestInstalledImage runs the image: it becomes healthy, keeps its state in its volume, stops when asked to, and comes
// back after it was killed.
func TestInstalledImage(t *testing.T) {
	d := startDocker(t)
	const name = "stint:latest"
	version := d.load(t, name)
	if got := d.run(t, "run", "--rm", "--network", "none", name, "version"); !strings.HasPrefix(got, "stint "+version+" ") {
		t.Errorf("it is %q, not version %s", got, version)
	}

	address := testserver.ReserveAddress(t)
	_, port, _ := net.SplitHostPort(address)
	// In the mode always a killed server loses nothing; in the mode of the image, the last 10 ms.
	create := []string{"run", "--detach", "--name", "stint", "--network", "host", "--read-only", "--volume", "state:/data",
		"--env", "STINT_LISTEN=" + address, "--env", "STINT_ADMIN=" + testserver.ReserveAddress(t), "--env", "STINT_DURABILITY=always", name}
	d.run(t, create...)
	left := 10
	take := func() {
		t.Helper()
		testwait.UntilNil(t, "it is healthy", func() error {
			if state := d.run(t, "inspect", "--format", "{{.State.Health.Status}}", "stint"); state != "healthy" {
				return fmt.Errorf("%s\n%s", state, d.run(t, "logs", "--tail", "20", "stint"))
			}
			return nil
		})
		left--
		if got := strings.Fields(output(t, "redis-cli", "-p", port, "TB.ACQUIRE", "k", "10", "1/d")); len(got) != 5 || got[0] != "1" || got[2] != fmt.Sprint(left) {
			t.Fatalf("%q, not one of ten tokens granted and %d left", got, left)
		}
	}
	ended := func(want string) {
		t.Helper()
		if got := d.run(t, "wait", "stint"); got != want {
			t.Errorf("it ended with status %s, not %s", got, want)
		}
	}
	take()
	backup := regexp.MustCompile("`kubectl exec stint-0 -- (.*) > copy.stint`").FindStringSubmatch(handbook(t, "durability.md"))
	if backup == nil {
		t.Fatal("docs/durability.md does not show how to back up a pod")
	}
	d.run(t, append([]string{"exec", "stint"}, strings.Fields(backup[1])...)...)
	d.run(t, "stop", "stint")
	ended("0")
	if log := d.run(t, "logs", "stint"); !strings.Contains(log, "wrote a snapshot") {
		t.Errorf("it stopped without a snapshot: %s", log)
	}
	d.run(t, "start", "stint")
	take()
	d.run(t, "kill", "--signal", "KILL", "stint")
	ended("137")
	d.run(t, "start", "stint")
	take()
	d.run(t, "rm", "--force", "stint") // kills it too
	d.run(t, create...)                // with the volume that stays
	take()
}
