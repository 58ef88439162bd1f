package packaging

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"

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

// buildServer builds the server like a release, as version 0.0.9, and returns the program's path.
func buildServer(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "stint")
	build := testserver.Command(t, "go", "build", "-trimpath", "-ldflags", "-X main.version=0.0.9", "-o", program, "./cmd/stint")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// packageInfo is what .goreleaser.yaml says of packages, with the program where it was built.
func packageInfo(t *testing.T, program string) *nfpm.Info {
	t.Helper()
	said := release(t).NFPMs[0]
	contents := files.Contents{{Source: program, Destination: said.Bindir + "/stint", FileInfo: &files.ContentFileInfo{Mode: 0o755}}}
	for _, c := range said.Contents {
		source := c.Source
		if source != "" { // a directory has none
			source = filepath.Join(root, source)
		}
		contents = append(contents, &files.Content{
			Source: source, Destination: c.Destination, Type: c.Type, FileInfo: &files.ContentFileInfo{Mode: c.FileInfo.Mode},
		})
	}
	return nfpm.WithDefaults(&nfpm.Info{
		Name: said.PackageName, Version: "0.0.9", Arch: runtime.GOARCH, Section: said.Section, Priority: said.Priority,
		Maintainer: said.Maintainer, Description: said.Description, Homepage: said.Homepage, License: said.License,
		Overridables: nfpm.Overridables{Contents: contents, Scripts: nfpm.Scripts{PostInstall: filepath.Join(root, said.Scripts.PostInstall), PreRemove: filepath.Join(root, said.Scripts.PreRemove)}},
	})
}

// TestPackages builds each package, unpacks it with its system's own tools and runs the server's program out of it.
func TestPackages(t *testing.T) {
	folder, program := t.TempDir(), buildServer(t)
	formats := release(t).NFPMs[0].Formats
	if !slices.Equal(formats, []string{"deb", "rpm"}) {
		t.Errorf("a release has %q", formats)
	}
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			file := filepath.Join(folder, "stint."+format)
			makePackage(t, format, packageInfo(t, program), file)
			unpacked := t.TempDir()
			unpackers[format](t, file, unpacked)
			checkUnpacked(t, unpacked)
		})
	}
}

func makePackage(t *testing.T, format string, info *nfpm.Info, path string) {
	t.Helper()
	packager, err := nfpm.Get(format)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err == nil {
		err = errors.Join(packager.Package(info, file), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unpackers check the metadata of a package, and unpack it.
var unpackers = map[string]func(t *testing.T, file, into string){
	"deb": func(t *testing.T, file, into string) {
		if got := strings.TrimSpace(output(t, "dpkg-deb", "--show", "--showformat", "${Package} ${Version}", file)); got != "stint 0.0.9" {
			t.Errorf("it calls itself %s", got)
		}
		saysHowToStart(t, output(t, "dpkg-deb", "--info", file, "postinst"))
		stopsWhenRemoved(t, output(t, "dpkg-deb", "--info", file, "prerm"))
		output(t, "dpkg-deb", "-x", file, into)
	},
	"rpm": func(t *testing.T, file, into string) {
		if got := strings.TrimSpace(output(t, "rpm", "-qp", "--queryformat", "%{NAME} %{VERSION} %{LICENSE}", file)); got != "stint 0.0.9 Apache-2.0" {
			t.Errorf("it calls itself %s", got)
		}
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
func checkUnpacked(t *testing.T, folder string) {
	t.Helper()
	if got := output(t, filepath.Join(folder, "usr/bin/stint"), "version"); !strings.HasPrefix(got, "stint 0.0.9 ") {
		t.Errorf("its program says %s", got)
	}
	for _, path := range []string{"usr/lib/systemd/system/stint.service", "usr/lib/systemd/system/stint-backup.service", "usr/lib/systemd/system/stint-backup.timer", "etc/stint/stint.toml", "usr/share/doc/stint/copyright"} {
		if _, err := os.Stat(filepath.Join(folder, path)); err != nil {
			t.Error(err)
		}
	}
	if modules := output(t, "go", "version", "-m", filepath.Join(folder, "usr/bin/stint")); !strings.Contains(modules, "github.com/hashicorp/raft") {
		t.Errorf("the program does not tell its modules:\n%s", modules)
	}
}

// TestUnit makes systemd check the unit, with the program where a package puts it, and reads its settings.
func TestUnit(t *testing.T) {
	text := read(t, "packaging/systemd/stint.service")
	start := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/stint (.*)$`).FindStringSubmatch(text)
	if start == nil {
		t.Fatal("it does not start /usr/bin/stint")
	}
	settings := newGiven(t)
	settings.flags(strings.Fields(start[1]))
	for line := range strings.Lines(read(t, "packaging/stint.toml")) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), " = "); is && !strings.HasPrefix(name, "#") {
			settings.set(name, strings.Trim(value, `"`))
		}
	}
	settings.check()

	unit := filepath.Join(t.TempDir(), "stint.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(text, "/usr/bin/stint", "/bin/true")), 0o644); err != nil {
		t.Fatal(err)
	}
	if said := output(t, "systemd-analyze", "verify", unit); said != "" {
		t.Errorf("systemd says: %s", said)
	}
}

// TestBackupUnit makes systemd check the units of backups. TestUnitsCommands runs their command.
func TestBackupUnit(t *testing.T) {
	folder := t.TempDir()
	unit := read(t, "packaging/systemd/stint-backup.service")
	for name, text := range map[string]string{"stint-backup.service": strings.ReplaceAll(unit, "/usr/bin/stint", "/bin/true"), "stint-backup.timer": read(t, "packaging/systemd/stint-backup.timer")} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if said := output(t, "systemd-analyze", "verify", filepath.Join(folder, "stint-backup.service"), filepath.Join(folder, "stint-backup.timer")); said != "" {
		t.Errorf("systemd says: %s", said)
	}
}
