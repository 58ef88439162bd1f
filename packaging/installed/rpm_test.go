//go:build installed

package installed

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// rpmProgram is rpm, which Debian asks to be used for packages of others on purpose only.
const rpmProgram = "rpm --force-debian "

// TestInstalledRPM takes the package through its life with the real rpm, in a Debian with systemd: installed, started, reloaded, upgraded,
// removed, and installed again. dnf and a system of Red Hat's are not to be had here.
func TestInstalledRPM(t *testing.T) {
	file := part(t, "stint_*_"+runtime.GOARCH+".rpm")
	version := strings.Split(filepath.Base(file), "_")[1]
	h := &host{boot(t), 10}
	newer := h.copyIn(t, nextRPM(t, file))
	file = h.copyIn(t, file)

	if said := h.run(t, rpmProgram+"--install "+file); !strings.Contains(said, "systemctl enable --now stint") {
		t.Errorf("it does not say how to start the server: %s", said)
	}
	h.run(t, "rpm --verify stint")
	if state, err := h.try(t, "systemctl is-enabled stint"); err == nil {
		t.Errorf("the unit is %s before anybody has looked at its settings", state)
	}
	h.run(t, "systemctl enable --now stint")
	h.take(t)
	h.run(t, "systemctl reload stint")
	h.run(t, "echo '"+ofThisHost+"' >> /etc/stint/stint.toml && systemctl restart stint")
	h.take(t)
	h.upgrade(t, version, rpmProgram+"--upgrade "+newer)

	h.run(t, rpmProgram+"--erase stint")
	h.checkStopped(t)
	if left := strings.Fields(h.run(t, "find /etc /usr -name '*stint*' | sort")); strings.Join(left, " ") != "/etc/stint /etc/stint/stint.toml.rpmnew /etc/stint/stint.toml.rpmsave" {
		t.Errorf("it leaves %s", left) // rpm keeps settings that were changed, and those that an upgrade did not install
	}
	h.run(t, "ls /var/lib/stint/snapshot-*")
	h.run(t, rpmProgram+"--install "+file+" && systemctl enable --now stint")
	h.take(t)
}

// nextRPM is the package with the program and the settings of a next version.
func nextRPM(t *testing.T, file string) string {
	t.Helper()
	folder := t.TempDir()
	output(t, "sh", "-c", `rpm2cpio "$0" | (cd "$1" && cpio --extract --make-directories --no-absolute-filenames --quiet)`, file, folder)
	nextVersion(t, folder)
	var contents files.Contents
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch name := strings.TrimPrefix(path, folder); {
		case err != nil:
		case name == "/usr/share/doc/stint":
			contents = append(contents, &files.Content{Destination: name, Type: files.TypeDir})
		case strings.HasPrefix(name, "/etc/") && !entry.IsDir():
			contents = append(contents, &files.Content{Source: path, Destination: name, Type: files.TypeConfigNoReplace})
		case !entry.IsDir():
			contents = append(contents, &files.Content{Source: path, Destination: name})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(t.TempDir(), "stint_"+next+".rpm")
	to, err := os.Create(newer)
	if err == nil {
		scripts := nfpm.Scripts{PostInstall: "../systemd/postinstall.sh", PreRemove: "../systemd/preremove.sh"}
		info := nfpm.WithDefaults(&nfpm.Info{Name: "stint", Version: next, Arch: runtime.GOARCH, Maintainer: "tests", Description: "the next version", License: "Apache-2.0", Overridables: nfpm.Overridables{Contents: contents, Scripts: scripts}})
		err = errors.Join(rpm.DefaultRPM.Package(info, to), to.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return newer
}
