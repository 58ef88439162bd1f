//go:build installed

package installed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// earlier is the version of packages of the last release here: below this one's, which may be its own while it
// has no tag.
const earlier = "0.0.1"

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

// checkVersion checks the version of the running server.
func (h *host) checkVersion(t *testing.T, want string) {
	t.Helper()
	if got := h.run(t, "redis-cli INFO server"); !strings.Contains(got, "stint_version:"+want+"\r\n") {
		t.Errorf("not version %s: %s", want, got)
	}
}

// TestInstalledDebianPackage takes the last release's package through its life, and this one's: installed, started,
// restarted, upgraded, reloaded, killed, purged, and installed again. What clients have used of a limit stays used all
// the time.
func TestInstalledDebianPackage(t *testing.T) {
	file := part(t, "stint_*_"+runtime.GOARCH+".deb")
	h := &host{boot(t), 10}
	old := h.copyIn(t, earlierPackage(t, file))
	file, version := h.copyIn(t, file), versionOf(file)

	h.run(t, "dpkg --install "+old)
	h.start(t)
	// Without a terminal, dpkg takes its question's default.
	h.upgrade(t, version, "dpkg --force-confdef --install "+file)
	h.run(t, "systemctl kill --signal KILL --kill-who main stint")
	h.await(t, "systemctl show --property NRestarts stint", "NRestarts=1")
	h.take(t)

	h.purge(t)
	if said := h.run(t, "dpkg --install "+file); !strings.Contains(said, "systemctl enable --now stint") {
		t.Errorf("it does not say how to start the server: %s", said)
	}
	h.start(t)
}

// versionOf is the version in the name of a file of the release.
func versionOf(file string) string { return strings.Split(filepath.Base(file), "_")[1] }

const ofThisHost = `durability = "always"` // a killed server loses nothing then

// start starts the service of a package that has just been installed, and restarts it with a setting of the host's.
func (h *host) start(t *testing.T) {
	t.Helper()
	if state, err := h.try(t, "systemctl is-enabled stint"); err == nil {
		t.Errorf("the unit is %s before anybody has looked at its settings", state)
	}
	h.run(t, "systemctl enable --now stint")
	h.take(t)
	h.run(t, "echo '"+ofThisHost+"' >> /etc/stint/stint.toml && systemctl restart stint")
	h.take(t)
}

// reload reloads the unit, which leaves the process running.
func (h *host) reload(t *testing.T) {
	t.Helper()
	before := h.process(t)
	h.run(t, "systemctl reload stint")
	h.await(t, "journalctl --no-pager --unit stint", "nothing to reload")
	h.take(t)
	if now := h.process(t); now != before {
		t.Errorf("the reload has restarted the server: %s, %s", before, now)
	}
}

// process is the line of the server's process id.
func (h *host) process(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(h.run(t, "systemctl show --property MainPID stint"))
}

// upgrade upgrades the earlier package by a command. The server keeps running until it is restarted.
func (h *host) upgrade(t *testing.T, version, install string) {
	t.Helper()
	before := h.process(t)
	if said := h.run(t, install); !strings.Contains(said, "systemctl restart stint") {
		t.Errorf("it does not say how to start the new version: %s", said)
	}
	if now := h.process(t); now != before {
		t.Errorf("the upgrade has restarted the server: %s, %s", before, now)
	}
	if got := h.run(t, "cat /etc/stint/stint.toml"); !strings.HasSuffix(got, ofLastRelease+ofThisHost+"\n") {
		t.Errorf("the host's settings are not kept: %s", got)
	}
	h.take(t)
	h.checkVersion(t, earlier)
	h.run(t, "systemctl restart stint")
	h.take(t)
	h.checkVersion(t, version)
	h.reload(t)
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

// earlierPackage is the package of the last release, with a lower version than this one's.
func earlierPackage(t *testing.T, file string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "package")
	output(t, "dpkg-deb", "--raw-extract", file, folder)
	source := intoLastRelease(t, folder)
	copyFile(t, filepath.Join(source, "packaging/systemd/postinstall.sh"), filepath.Join(folder, "DEBIAN/postinst"))
	copyFile(t, filepath.Join(source, "packaging/systemd/preremove.sh"), filepath.Join(folder, "DEBIAN/prerm"))
	edit(t, filepath.Join(folder, "DEBIAN/control"), func(text string) string { return versionField.ReplaceAllString(text, "Version: "+earlier) })
	old := filepath.Join(t.TempDir(), "stint_"+earlier+".deb")
	output(t, "dpkg-deb", "--root-owner-group", "-Znone", "--build", folder, old)
	return old
}

// ofLastRelease is a line of the earlier package's settings that this one's does not have.
const ofLastRelease = "# of the last release\n"

// intoLastRelease puts the program, the unit and the settings of the last release into an unpacked package, and returns
// its source.
func intoLastRelease(t *testing.T, folder string) (source string) {
	t.Helper()
	source = lastRelease(t)
	build := testserver.Command(t, "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+earlier, "-o", filepath.Join(folder, "usr/bin/stint"), "./cmd/stint")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	copyFile(t, filepath.Join(source, "packaging/systemd/stint.service"), filepath.Join(folder, "usr/lib/systemd/system/stint.service"))
	copyFile(t, filepath.Join(source, "packaging/stint.toml"), filepath.Join(folder, "etc/stint/stint.toml"))
	edit(t, filepath.Join(folder, "etc/stint/stint.toml"), func(text string) string { return text + ofLastRelease })
	return source
}

// copyFile replaces a file, keeping its mode. Without the source it is removed: the last release did not have it.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(to)
	} else if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
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
