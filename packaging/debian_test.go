package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// output runs a command, which has to succeed, and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// packageInfo is what .goreleaser.yaml says of packages, with the program where it was built.
func packageInfo(t *testing.T, program string) *nfpm.Info {
	t.Helper()
	said := release(t).NFPMs[0]
	contents := files.Contents{{Source: program, Destination: said.Bindir + "/stint", FileInfo: &files.ContentFileInfo{Mode: 0o755}}}
	for _, c := range said.Contents {
		contents = append(contents, &files.Content{
			Source: filepath.Join(root, c.Source), Destination: c.Destination, Type: c.Type, FileInfo: &files.ContentFileInfo{Mode: c.FileInfo.Mode},
		})
	}
	return nfpm.WithDefaults(&nfpm.Info{
		Name: said.PackageName, Version: "0.0.9", Arch: runtime.GOARCH, Section: said.Section, Priority: said.Priority,
		Maintainer: said.Maintainer, Description: said.Description, Homepage: said.Homepage, License: said.License,
		Overridables: nfpm.Overridables{Contents: contents},
	})
}

// TestDebianPackage builds the package, unpacks it with dpkg-deb and runs the server's program out of it.
func TestDebianPackage(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "stint")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-X main.version=0.0.9", "-o", program, "./cmd/stint")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info := packageInfo(t, program)
	debian, err := nfpm.Get("deb")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(folder, "stint.deb"))
	if err == nil {
		err = debian.Package(info, file)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(output(t, "dpkg-deb", "--show", "--showformat", "${Package} ${Version}", file.Name())); got != "stint 0.0.9" {
		t.Errorf("it calls itself %s", got)
	}
	unpacked := filepath.Join(folder, "unpacked")
	output(t, "dpkg-deb", "-x", file.Name(), unpacked)
	if got := output(t, filepath.Join(unpacked, "usr/bin/stint"), "version"); !strings.HasPrefix(got, "stint 0.0.9 ") {
		t.Errorf("its program says %s", got)
	}
	for _, path := range []string{"usr/lib/systemd/system/stint.service", "etc/stint/stint.toml", "usr/share/doc/stint/copyright"} {
		if _, err := os.Stat(filepath.Join(unpacked, path)); err != nil {
			t.Error(err)
		}
	}
	if modules := output(t, "go", "version", "-m", filepath.Join(unpacked, "usr/bin/stint")); !strings.Contains(modules, "github.com/hashicorp/raft") {
		t.Errorf("the program does not tell its modules:\n%s", modules)
	}
}

// TestUnit has systemd look at the unit, with the program where a package puts it, and reads its settings.
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
