package raftstore

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
	disk, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Incarnation("a"); err != nil {
		t.Fatal(err)
	}
	if err := disk.Stable().SetUint64(termKey, 1); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(200) {
		if err := disk.Logs().StoreLog(&raft.Log{Index: i + 1, Term: 1, Data: make([]byte, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A truncated file is refused with a clear error, wherever it was cut off, and never read as a new one.
func TestTornDirectoryIsRefused(t *testing.T) {
	for _, name := range []string{votesFile, filepath.Join(LogDir, "log-00000000000000000001.stint")} {
		dir := usedDir(t)
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 1, 100, 4096, 5000, 8192, 8193, len(whole) / 2, len(whole) - 4096, len(whole) - 1} {
			if name == votesFile && size >= 100 {
				continue // the first of the two copies is whole
			}
			refused(t, dir, filepath.Base(name), func() error { return os.WriteFile(path, whole[:size], 0o600) })
		}
		refused(t, dir, filepath.Dir(name), func() error { return os.Remove(path) })
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		disk, err := Open(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatalf("whole again: %v", err)
		}
		if last, err := disk.Logs().LastIndex(); last != 200 || err != nil {
			t.Errorf("the last entry is %d, %v", last, err)
		}
		_ = disk.Close()
	}
	dir := usedDir(t)
	refused(t, dir, LogDir, func() error { return os.RemoveAll(filepath.Join(dir, LogDir)) })
	dir = usedDir(t)
	refused(t, dir, IdentityFile, func() error { return os.Remove(filepath.Join(dir, IdentityFile)) })
}

// refused opens a node's directory after something was done to it.
func refused(t *testing.T, dir, name string, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	disk, err := Open(dir, slog.New(slog.DiscardHandler))
	if err == nil {
		_ = disk.Close()
		t.Errorf("%s is opened as if nothing were missing", name)
	} else if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "start with an empty --dir") {
		t.Errorf("%s: %v", name, err)
	}
}
