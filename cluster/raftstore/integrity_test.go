package raftstore

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// usedDir makes the directory of a node with a log of a kind.
func usedDir(t *testing.T, kind LogKind) (dir string) {
	t.Helper()
	dir = t.TempDir()
	disk, err := Open(dir, kind, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Incarnation("a"); err != nil {
		t.Fatal(err)
	}
	if err := disk.Stable().SetUint64(termKey, 1); err != nil {
		t.Fatal(err)
	}
	for i := uint64(0); i < 200; i += 10 {
		var logs []*raft.Log
		for j := range uint64(10) {
			logs = append(logs, &raft.Log{Index: i + j + 1, Term: 1, Data: make([]byte, 1000)})
		}
		if err := disk.Logs().StoreLogs(logs); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A truncated file is refused with a clear error, wherever it was cut off, and never taken for a new file. Votes are
// refused if both of their files are truncated.
func TestTornDirectoryIsRefused(t *testing.T) {
	for _, c := range []struct {
		kind  LogKind
		names []string
	}{
		{OwnLog, votesFiles[:]}, {OwnLog, []string{filepath.Join(LogDir, "log-00000000000000000001.stint")}},
		{BoltLog, []string{filepath.Join(LogDir, boltLogFile)}},
	} {
		dir := usedDir(t, c.kind)
		whole := map[string][]byte{}
		size := 0
		for _, name := range c.names {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			whole[name], size = data, len(data)
		}
		for _, size := range []int{0, 1, 100, 4096, 5000, 8192, 8193, size / 2, size - 4096, size - 1} {
			if c.kind == BoltLog && size > 10_000 || c.names[0] == votesFiles[0] && size > 10_000 {
				continue // bbolt has filled the file beyond the pages that it uses
			}
			for name, data := range whole {
				if err := os.WriteFile(filepath.Join(dir, name), data[:size], 0o600); err != nil {
					t.Fatal(err)
				}
			}
			refused(t, dir, c.kind, filepath.Base(c.names[0]), func() error { return nil })
		}
		refused(t, dir, c.kind, filepath.Dir(c.names[0]), func() (err error) {
			for _, name := range c.names {
				err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
			}
			return err
		})
		for name, data := range whole {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		disk, err := Open(dir, c.kind, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatalf("whole again: %v", err)
		}
		if last, err := disk.Logs().LastIndex(); last != 200 || err != nil {
			t.Errorf("the last entry is %d, %v", last, err)
		}
		_ = disk.Close()
	}
	for _, kind := range logKinds {
		dir := usedDir(t, kind)
		refused(t, dir, kind, LogDir, func() error { return os.RemoveAll(filepath.Join(dir, LogDir)) })
		dir = usedDir(t, kind)
		refused(t, dir, kind, IdentityFile, func() error { return os.Remove(filepath.Join(dir, IdentityFile)) })
	}
}

// A log stays with the kind of store that keeps it.
func TestOtherLogIsRefused(t *testing.T) {
	for i, kind := range logKinds {
		refused(t, usedDir(t, kind), logKinds[1-i], "was written with --cluster-log "+string(kind), func() error {
			return nil
		})
	}
}

// refused opens a node's directory after something was done to it.
func refused(t *testing.T, dir string, kind LogKind, name string, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	disk, err := Open(dir, kind, slog.New(slog.DiscardHandler))
	if err == nil {
		_ = disk.Close()
		t.Errorf("%s is opened as if nothing were missing", name)
	} else if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "start with an empty --dir") {
		t.Errorf("%s: %v", name, err)
	}
}
