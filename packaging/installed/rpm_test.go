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

// TestInstalledRPM takes the last release's package through its life with the real rpm, and this one's, in a Debian
// with systemd: installed, started, upgraded, reloaded, removed, and installed again. dnf and a system of Red Hat's are
// not to be had here.
func TestInstalledRPM(t *testing.T) {
	file := part(t, "stint_*_"+runtime.GOARCH+".rpm")
	h := &host{boot(t), 10}
	old := h.copyIn(t, earlierRPM(t, file))
	file, version := h.copyIn(t, file), versionOf(file)

	h.run(t, rpmProgram+"--install "+old)
	h.start(t)
	h.upgrade(t, version, rpmProgram+"--upgrade "+file)

	h.run(t, rpmProgram+"--erase stint")
	h.checkStopped(t)
	if left := strings.Fields(h.run(t, "find /etc /usr -name '*stint*' | sort")); strings.Join(left, " ") != "/etc/stint /etc/stint/stint.toml.rpmnew /etc/stint/stint.toml.rpmsave" {
		t.Errorf("it leaves %s", left) // rpm keeps settings that were changed, or that an upgrade did not install
	}
	h.run(t, "ls /var/lib/stint/snapshot-*")
	if said := h.run(t, rpmProgram+"--install "+file); !strings.Contains(said, "systemctl enable --now stint") {
		t.Errorf("it does not say how to start the server: %s", said)
	}
	h.run(t, "rpm --verify stint")
	h.start(t)
}

// earlierRPM is the package of the last release, with a lower version than this one's.
func earlierRPM(t *testing.T, file string) string {
	t.Helper()
	folder := t.TempDir()
	output(t, "sh", "-c", `rpm2cpio "$0" | (cd "$1" && cpio --extract --make-directories --no-absolute-filenames --quiet)`, file, folder)
	source := intoLastRelease(t, folder)
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
	old := filepath.Join(t.TempDir(), "stint_"+earlier+".rpm")
	to, err := os.Create(old)
	if err == nil {
		scripts := nfpm.Scripts{PostInstall: ifThere(filepath.Join(source, "packaging/systemd/postinstall.sh")), PreRemove: ifThere(filepath.Join(source, "packaging/systemd/preremove.sh"))}
		info := nfpm.WithDefaults(&nfpm.Info{Name: "stint", Version: earlier, Arch: runtime.GOARCH, Maintainer: "tests", Description: "the last release", License: "Apache-2.0", Overridables: nfpm.Overridables{Contents: contents, Scripts: scripts}})
		err = errors.Join(rpm.DefaultRPM.Package(info, to), to.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return old
}

// ifThere is a path, or "" where the last release did not have the file.
func ifThere(path string) string {
	if !exists(path) {
		return ""
	}
	return path
}
