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

// host is a machine with the package, and a limit of ten tokens on its server.
type host struct {
	*machine
	left int // tokens
}

// take takes a token.
func (h *host) take(t *testing.T) {
	t.Helper()
	h.left--
	h.await(t, "redis-cli PING", "PONG") // systemd does not wait until it serves
	if got := strings.Fields(h.run(t, "redis-cli TB.ACQUIRE k 10 1/d")); len(got) != 5 || got[0] != "1" || got[2] != fmt.Sprint(h.left) {
		t.Fatalf("%q, not one of ten tokens granted and %d left", got, h.left)
	}
}

// checkVersion checks that of the running server.
func (h *host) checkVersion(t *testing.T, want string) {
	t.Helper()
	if got := h.run(t, "redis-cli INFO server"); !strings.Contains(got, "stint_version:"+want+"\r\n") {
		t.Errorf("not version %s: %s", want, got)
	}
}

// TestInstalledDebianPackage takes the package through its life: installed, started, reloaded, restarted, upgraded, purged, and
// installed again. What clients have used of a limit stays used all the time.
func TestInstalledDebianPackage(t *testing.T) {
	file := part(t, "stint_*_"+runtime.GOARCH+".deb")
	version := strings.Split(filepath.Base(file), "_")[1]
	h := &host{boot(t), 10}
	newer := h.copyIn(t, nextPackage(t, file))
	file = h.copyIn(t, file)

	if said := h.run(t, "dpkg --install "+file); !strings.Contains(said, "systemctl enable --now stint") {
		t.Errorf("it does not say how to start the server: %s", said)
	}
	if state, err := h.try(t, "systemctl is-enabled stint"); err == nil {
		t.Errorf("the unit is %s before anybody has looked at its settings", state)
	}
	h.run(t, "systemctl enable --now stint")
	h.take(t)
	h.run(t, "systemctl reload stint")
	h.await(t, "journalctl --no-pager --unit stint", "nothing to reload")
	h.take(t)
	h.run(t, "echo '"+ofThisHost+"' >> /etc/stint/stint.toml && systemctl restart stint")
	h.take(t)
	h.run(t, "systemctl kill --signal KILL --kill-who main stint")
	h.await(t, "systemctl show --property NRestarts stint", "NRestarts=1")
	h.take(t)

	// Without a terminal, dpkg takes its question's default.
	h.upgrade(t, version, "dpkg --force-confdef --install "+newer)
	h.purge(t)
	h.run(t, "dpkg --install "+file+" && systemctl enable --now stint")
	h.take(t)
}

const ofThisHost = `durability = "always"` // a killed server loses nothing then

// upgrade installs the package of the next version, which has other settings, by a command. The server keeps running until it is restarted.
func (h *host) upgrade(t *testing.T, version, install string) {
	t.Helper()
	before := h.run(t, "systemctl show --property MainPID stint")
	if said := h.run(t, install); !strings.Contains(said, "systemctl restart stint") {
		t.Errorf("it does not say how to start the new version: %s", said)
	}
	if now := h.run(t, "systemctl show --property MainPID stint"); now != before {
		t.Errorf("the upgrade has restarted the server: %s, %s", before, now)
	}
	if got := h.run(t, "cat /etc/stint/stint.toml"); !strings.Contains(got, ofThisHost) || strings.Contains(got, "# of the next version") {
		t.Errorf("the host's settings are not kept: %s", got)
	}
	h.take(t)
	h.checkVersion(t, version)
	h.run(t, "systemctl restart stint")
	h.take(t)
	h.checkVersion(t, next)
}

// purge leaves nothing of the package but the server's state.
func (h *host) purge(t *testing.T) {
	t.Helper()
	h.run(t, "dpkg --purge stint")
	h.checkStopped(t)
	if left := h.run(t, "find /etc /usr -name '*stint*'"); left != "" {
		t.Errorf("purge leaves %s", left)
	}
	h.run(t, "ls /var/lib/stint/snapshot-*")
}

// checkStopped checks that neither the unit nor the server runs without the package.
func (h *host) checkStopped(t *testing.T) {
	t.Helper()
	if state, err := h.try(t, "systemctl is-active stint"); err == nil {
		t.Errorf("the unit is %s", state)
	}
	if out, err := h.try(t, "redis-cli PING"); err == nil && strings.Contains(out, "PONG") {
		t.Error("the server answers")
	}
}

var versionField = regexp.MustCompile(`(?m)^Version: .*$`)

// nextPackage is the package with the program and the settings of a next version.
func nextPackage(t *testing.T, file string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "package")
	output(t, "dpkg-deb", "--raw-extract", file, folder)
	nextVersion(t, folder)
	edit(t, filepath.Join(folder, "DEBIAN/control"), func(text string) string { return versionField.ReplaceAllString(text, "Version: "+next) })
	newer := filepath.Join(t.TempDir(), "stint_"+next+".deb")
	output(t, "dpkg-deb", "--root-owner-group", "-Znone", "--build", folder, newer)
	return newer
}

// nextVersion puts the program and the settings of a next version into an unpacked package.
func nextVersion(t *testing.T, folder string) {
	t.Helper()
	build := testserver.Command(t, "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+next, "-o", filepath.Join(folder, "usr/bin/stint"), "./cmd/stint")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	edit(t, filepath.Join(folder, "etc/stint/stint.toml"), func(text string) string { return text + "# of the next version\n" })
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
