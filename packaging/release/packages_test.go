package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goreleaser/goreleaser/v2/pkg/config"

	"github.com/stintdb/stint/internal/testserver"
)

// output runs a command, which must succeed, and returns its output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := testserver.Command(t, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// newTestRelease is version 0.0.9 of this repository, not released yet, in a folder of the test.
func newTestRelease(t *testing.T) *release {
	t.Helper()
	r := &release{root: "../..", out: t.TempDir(), version: "0.0.9", commit: "0123456789abcdef", moment: time.Unix(1e9, 0).UTC()}
	var err error
	if r.Project, err = config.Load(filepath.Join(r.root, ".goreleaser.yaml")); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPackages builds each package, unpacks it with its system's own tools and runs the server's program out of it.
func TestPackages(t *testing.T) {
	r := newTestRelease(t)
	if targets, err := r.programs("plan9/arm"); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("a release for plan9/arm: %v, %v", targets, err)
	}
	targets, err := r.programs(runtime.GOOS + "/" + runtime.GOARCH)
	if len(targets) > 1 {
		t.Errorf("programs for one platform: %v", targets)
	}
	if err == nil {
		err = r.packages(targets[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	formats := r.NFPMs[0].Formats
	if len(formats) != len(unpackers) {
		t.Errorf("a release has %q", formats)
	}
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			unpacked := t.TempDir()
			unpackers[format](t, r.path(fmt.Sprintf("stint_0.0.9_%s.%s", runtime.GOARCH, format)), unpacked)
			checkUnpacked(t, format, unpacked)
		})
	}
}

// unpackers check the metadata of a package, and unpack it.
var unpackers = map[string]func(t *testing.T, file, into string){
	"deb": func(t *testing.T, file, into string) {
		callsItself(t, "stint 0.0.9~dev", output(t, "dpkg-deb", "--show", "--showformat", "${Package} ${Version}", file))
		saysHowToStart(t, output(t, "dpkg-deb", "--info", file, "postinst"))
		stopsWhenRemoved(t, output(t, "dpkg-deb", "--info", file, "prerm"))
		output(t, "dpkg-deb", "-x", file, into)
	},
	"rpm": func(t *testing.T, file, into string) {
		callsItself(t, "stint 0.0.9~dev Apache-2.0", output(t, "rpm", "-qp", "--queryformat", "%{NAME} %{VERSION} %{LICENSE}", file))
		if got := strings.TrimSpace(output(t, "rpm", "-qp", "--configfiles", file)); got != "/etc/stint/stint.toml" {
			t.Errorf("it keeps what was changed in %s", got)
		}
		scripts := output(t, "rpm", "-qp", "--scripts", file)
		after, before, _ := strings.Cut(scripts, "preuninstall")
		saysHowToStart(t, after)
		stopsWhenRemoved(t, before)
		// Its paths are absolute.
		output(t, "sh", "-c", `rpm2cpio "$0" | (cd "$1" && cpio --extract --make-directories --no-absolute-filenames --quiet)`, file, into)
	},
	// It is the script's archive and the files', one after the other, which tar takes for one.
	"apk": func(t *testing.T, file, into string) {
		output(t, "tar", "--warning=no-unknown-keyword", "-C", into, "-xzf", file)
		info, err := os.ReadFile(filepath.Join(into, ".PKGINFO"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"pkgname = stint\n", "pkgver = 0.0.9_pre\n", "license = Apache-2.0\n"} {
			if !strings.Contains(string(info), line) {
				t.Errorf("it does not say %q:\n%s", line, info)
			}
		}
		for _, script := range []string{".post-install", ".pre-deinstall", "etc/init.d/stint"} {
			output(t, "sh", "-n", filepath.Join(into, script))
		}
	},
}

// callsItself checks the name and the version in a package.
func callsItself(t *testing.T, want, got string) {
	t.Helper()
	if got = strings.TrimSpace(got); got != want {
		t.Errorf("it calls itself %s, not %s", got, want)
	}
}

// ofFormat are the files of each format, beside those of all.
var ofFormat = map[string][]string{
	"deb": ofSystemd,
	"rpm": ofSystemd,
	"apk": {"etc/init.d/stint", "usr/share/licenses/stint/LICENSE"},
}

var ofSystemd = []string{
	"usr/lib/systemd/system/stint.service", "usr/lib/systemd/system/stint-backup.service",
	"usr/lib/systemd/system/stint.socket", "usr/lib/systemd/system/stint-sidecar.service", "usr/lib/systemd/system/stint-sidecar.socket",
	"usr/lib/systemd/system/stint-backup.timer", "usr/share/doc/stint/copyright",
}

// saysHowToStart checks the script that runs after an installation: it starts nothing.
func saysHowToStart(t *testing.T, script string) {
	t.Helper()
	if !strings.Contains(script, `echo "Stint is installed. Look at /etc/stint/stint.toml, then start it: systemctl enable --now stint"`) ||
		strings.Count(script, "systemctl") != 3 || strings.Count(script, "echo") != 2 {
		t.Errorf("after an installation runs:\n%s", script)
	}
}

// stopsWhenRemoved checks the script that runs before a removal or an upgrade: only the former stops the server.
func stopsWhenRemoved(t *testing.T, script string) {
	t.Helper()
	if !strings.Contains(script, `if [ "$1" = remove ] || [ "$1" = 0 ]; then`) || strings.Count(script, "systemctl") != 1 {
		t.Errorf("before a removal runs:\n%s", script)
	}
}

// checkUnpacked checks the files of a package, and runs the program.
func checkUnpacked(t *testing.T, format, folder string) {
	t.Helper()
	if got := output(t, filepath.Join(folder, "usr/bin/stint"), "version"); !strings.HasPrefix(got, "stint 0.0.9 ") {
		t.Errorf("its program says %s", got)
	}
	for _, path := range append([]string{"etc/stint/stint.toml", "usr/share/man/man1/stint.1"}, ofFormat[format]...) {
		if _, err := os.Stat(filepath.Join(folder, path)); err != nil {
			t.Error(err)
		}
	}
	if modules := output(t, "go", "version", "-m", filepath.Join(folder, "usr/bin/stint")); !strings.Contains(modules, "github.com/hashicorp/raft") {
		t.Errorf("the program does not tell its modules:\n%s", modules)
	}
}
