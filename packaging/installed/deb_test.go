//go:build installed

package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// next is a version above those that are released.
const next = "999.0.0"

// TestInstalledDebianPackage takes the package through its life: installed, started, reloaded, restarted, upgraded, purged, and
// installed again. What clients have used of a limit stays used all the time.
func TestInstalledDebianPackage(t *testing.T) {
	file := part(t, "stint_*_"+runtime.GOARCH+".deb")
	version := strings.Split(filepath.Base(file), "_")[1]
	m := boot(t)
	newer := m.copyIn(t, nextPackage(t, file))
	file = m.copyIn(t, file)
	left := 10
	take := func() {
		t.Helper()
		left--
		m.await(t, "redis-cli PING", "PONG") // systemd does not wait until it serves
		if got := strings.Fields(m.run(t, "redis-cli TB.ACQUIRE k 10 1/d")); len(got) != 5 || got[0] != "1" || got[2] != fmt.Sprint(left) {
			t.Fatalf("%q, not one of ten tokens granted and %d left", got, left)
		}
	}

	if said := m.run(t, "dpkg --install "+file); !strings.Contains(said, "systemctl enable --now stint") {
		t.Errorf("it does not say how to start the server: %s", said)
	}
	if state, err := m.try(t, "systemctl is-enabled stint"); err == nil {
		t.Errorf("the unit is %s before anybody has looked at its settings", state)
	}
	m.run(t, "systemctl enable --now stint")
	take()
	m.run(t, "systemctl reload stint")
	m.await(t, "journalctl --no-pager --unit stint", "nothing to reload")
	take()
	m.run(t, "echo '# of this host' >> /etc/stint/stint.toml && systemctl restart stint")
	take()
	m.run(t, "systemctl kill --signal KILL --kill-who main stint")
	m.await(t, "systemctl show --property NRestarts stint", "NRestarts=1")
	m.await(t, "systemctl is-active stint", "active")
	take()

	before := m.run(t, "systemctl show --property MainPID stint")
	// The package's own settings have changed too: without a terminal, dpkg is told what its question's default is.
	if said := m.run(t, "dpkg --force-confdef --install "+newer); !strings.Contains(said, "systemctl restart stint") {
		t.Errorf("it does not say how to start the new version: %s", said)
	}
	if now := m.run(t, "systemctl show --property MainPID stint"); now != before {
		t.Errorf("the upgrade has restarted the server: %s, %s", before, now)
	}
	if got := m.run(t, "cat /etc/stint/stint.toml"); !strings.Contains(got, "# of this host") || strings.Contains(got, "# of the next version") {
		t.Errorf("the host's settings are not kept: %s", got)
	}
	take()
	running := func(want string) {
		t.Helper()
		if got := m.run(t, "redis-cli INFO server"); !strings.Contains(got, "stint_version:"+want+"\r\n") {
			t.Errorf("not version %s: %s", want, got)
		}
	}
	running(version)
	m.run(t, "systemctl restart stint")
	take()
	running(next)

	m.run(t, "dpkg --purge stint")
	if state, err := m.try(t, "systemctl is-active stint"); err == nil {
		t.Errorf("after purge the unit is %s", state)
	}
	if out, err := m.try(t, "redis-cli PING"); err == nil && strings.Contains(out, "PONG") {
		t.Error("after purge the server answers")
	}
	if left := m.run(t, "find /etc /usr /lib -name '*stint*' -not -path '/usr/share/*'"); left != "" {
		t.Errorf("purge leaves %s", left)
	}
	m.run(t, "ls /var/lib/stint/snapshot-*")
	m.run(t, "dpkg --install "+file+" && systemctl enable --now stint")
	take()
}

var versionField = regexp.MustCompile(`(?m)^Version: .*$`)

// nextPackage is the package with the program and the settings of a next version.
func nextPackage(t *testing.T, file string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "package")
	output(t, "dpkg-deb", "--raw-extract", file, folder)
	build := testserver.Command(t, "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+next, "-o", filepath.Join(folder, "usr/bin/stint"), "./cmd/stint")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	edit(t, filepath.Join(folder, "DEBIAN/control"), func(text string) string { return versionField.ReplaceAllString(text, "Version: "+next) })
	edit(t, filepath.Join(folder, "etc/stint/stint.toml"), func(text string) string { return text + "# of the next version\n" })
	newer := filepath.Join(t.TempDir(), "stint_"+next+".deb")
	output(t, "dpkg-deb", "--root-owner-group", "-Znone", "--build", folder, newer)
	return newer
}

func edit(t *testing.T, file string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(change(string(text))), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
