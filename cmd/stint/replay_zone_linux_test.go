//go:build e2e

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// TestZonesWithoutDatabase: stint replay knows time zones in a root directory that has nothing but the program, as in
// the image.
func TestZonesWithoutDatabase(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to change the root directory")
	}
	t.Setenv("CGO_ENABLED", "0") // or else it needs libraries there
	program := testserver.BuildFrom(t, "../..")
	for zone, want := range map[string]string{
		"Europe/Berlin": "from 2026-11-28T00:00:00+01:00",
		"Mars/Olympus":  "stint: --time-zone: unknown time zone Mars/Olympus;",
	} {
		replay := testserver.Command(t, "/"+filepath.Base(program), "replay", "--time-zone", zone, "--limit", "TB {} 1 1/s", "-")
		replay.SysProcAttr.Chroot = filepath.Dir(program)
		replay.Stdin = strings.NewReader(strings.Repeat(`{"time":"2026-11-28 00:00:00","ip":"1.2.3.4"}`+"\n", 2))
		if output, err := replay.CombinedOutput(); !strings.Contains(string(output), want) {
			t.Errorf("%s: %v\n%s", zone, err, output)
		}
	}
}
