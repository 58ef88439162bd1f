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
	for i := range uint64(200) {
		if err := disk.Logs().StoreLog(&raft.Log{Index: i + 1, Term: 1, Data: make([]byte, 10_000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A log that has lost something is refused with a sentence, wherever it was cut off, and never read as one that is new.
func TestTornLogIsRefused(t *testing.T) {
	dir := usedDir(t)
	path := filepath.Join(dir, logFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	needs := boltNeeds(file)
	_ = file.Close()
	if needs < 1_000_000 || needs > int64(len(whole)) {
		t.Fatalf("a file of %d bytes is said to need %d", len(whole), needs)
	}
	for _, size := range []int64{0, 1, 100, 4096, 5000, 8192, 8193, 100_000, needs / 2, needs - 4096, needs - 1} {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		disk, err := OpenDir(dir, slog.New(slog.DiscardHandler))
		if err == nil {
			_ = disk.Close()
			t.Errorf("cut off at %d of %d bytes, it is opened", size, needs)
		} else if !strings.Contains(err.Error(), logFile) {
			t.Errorf("cut off at %d: %v", size, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDir(dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("without a log: %v", err)
	}
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
