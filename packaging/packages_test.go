package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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

// TestUnit reads the settings of the unit, which starts the program where a package puts it.
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
}

// TestUnitsAreValid makes systemd check the units. TestUnitsCommands runs their commands.
func TestUnitsAreValid(t *testing.T) {
	folder, verify := t.TempDir(), []string{"verify"}
	for _, name := range []string{"stint-backup.service", "stint-backup.timer", "stint-sidecar.service", "stint-sidecar.socket", "stint.service", "stint.socket"} {
		file := filepath.Join(folder, name)
		text := strings.ReplaceAll(read(t, "packaging/systemd/"+name), "/usr/bin/stint", "/bin/true")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		verify = append(verify, file)
	}
	if said := output(t, "systemd-analyze", verify...); said != "" {
		t.Errorf("systemd says: %s", said)
	}
}
