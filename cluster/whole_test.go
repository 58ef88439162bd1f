package cluster

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// usedDir is the directory of a node that has a log of some size.
func usedDir(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	disk, err := OpenDir(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Identity("a"); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(1000) {
		if err := disk.Stable().SetUint64([]byte("term"), i); err != nil {
			t.Fatal(err)
		}
		if i >= 200 {
			continue
		}
		if err := disk.Logs().StoreLog(&raft.Log{Index: i + 1, Term: 1, Data: make([]byte, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What has lost something is refused with a sentence, wherever it was cut off, and never read as one that is new.
func TestTornDirectoryIsRefused(t *testing.T) {
	for _, name := range []string{votesFile, filepath.Join(logDir, "log-00000000000000000001.stint")} {
		dir := usedDir(t)
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		needs := len(whole)
		if name == votesFile {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			needs = int(boltNeeds(file))
			_ = file.Close()
		}
		if needs < 4*4096 || needs > len(whole) {
			t.Fatalf("%s, of %d bytes, is said to need %d", name, len(whole), needs)
		}
		for _, size := range []int{0, 1, 100, 4096, 5000, 8192, 8193, needs / 2, needs - 4096, needs - 1} {
			refused(t, dir, filepath.Base(name), func() error { return os.WriteFile(path, whole[:size], 0o600) })
		}
		refused(t, dir, filepath.Dir(name), func() error { return os.Remove(path) })
		if err := os.WriteFile(path, whole[:needs], 0o600); err != nil {
			t.Fatal(err)
		}
		disk, err := OpenDir(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatalf("whole again: %v", err)
		}
		if last, err := disk.Logs().LastIndex(); last != 200 || err != nil {
			t.Errorf("the last entry is %d, %v", last, err)
		}
		_ = disk.Close()
	}
	dir := usedDir(t)
	refused(t, dir, logDir, func() error { return os.RemoveAll(filepath.Join(dir, logDir)) })
	dir = usedDir(t)
	refused(t, dir, identityFile, func() error { return os.Remove(filepath.Join(dir, identityFile)) })
}

// refused opens a node's directory after something was done to it.
func refused(t *testing.T, dir, name string, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	disk, err := OpenDir(dir, slog.New(slog.DiscardHandler))
	if err == nil {
		_ = disk.Close()
		t.Errorf("%s is opened as if nothing were missing", name)
	} else if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "start with an empty --dir") {
		t.Errorf("%s: %v", name, err)
	}
}
