//go:build installed

package installed

import (
	"path/filepath"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// TestInstalledOnARM runs the archive's program for another processor, by emulation.
func TestInstalledOnARM(t *testing.T) {
	folder := t.TempDir()
	output(t, "tar", "-C", folder, "-xzf", part(t, "stint_*_linux_arm64.tar.gz"))
	server := testserver.NewProcess(t, "qemu-aarch64-static", filepath.Join(folder, "stint"), "server", "--listen", "127.0.0.1:0", "--admin", "", "--dir", "state")
	for _, left := range []string{"9", "8"} { // the second time from the directory
		server.Start(t)
		address := server.AwaitReady(t)[0]
		for command, want := range map[string]string{"PING": "+PONG\r\n", "TB.ACQUIRE k 10 1/d": "*5\r\n:1\r\n:10\r\n:" + left + "\r\n:0\r\n"} {
			if got, err := ask(address, command); err != nil || len(got) < len(want) || got[:len(want)] != want {
				t.Errorf("%s is answered %q (%v), not %q", command, got, err, want)
			}
		}
		server.Stop(t)
	}
}
