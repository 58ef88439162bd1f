package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/persistence/disk"
	"github.com/stintdb/stint/server/config"
)

// startIn starts a server alone in a directory, without serving.
func startIn(t *testing.T, dir string) error {
	t.Helper()
	cfg := config.Default()
	cfg.Dir = dir
	keys := store.New(store.Config{})
	defer keys.Close()
	local, err := openLocal(t.Context(), cfg, keys, slog.New(slog.NewTextHandler(io.Discard, nil)), nil)
	if err == nil {
		local.stop()
	}
	return err
}

// A signal ends a start while it reads the state, and the next start reads all of it.
func TestStartIsInterrupted(t *testing.T) {
	cfg := config.Default()
	cfg.Dir = stoppedDir(t)
	ended, end := context.WithCancel(t.Context())
	end()
	keys := store.New(store.Config{})
	defer keys.Close()
	if _, err := openLocal(ended, cfg, keys, slog.New(slog.DiscardHandler), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := startIn(t, cfg.Dir); err != nil {
		t.Error(err)
	}
}

// stoppedDir is the directory of a server that was killed.
func stoppedDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(stateDir(t))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A start names the file that is missing, and the remedies; so does the inspection. What is no file of the state does
// not matter.
func TestStartWithoutAFile(t *testing.T) {
	dir := stoppedDir(t)
	for _, other := range []string{"lost+found", "rls-xds.rules.d"} {
		if err := os.Mkdir(filepath.Join(dir, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := startIn(t, dir); err != nil {
		t.Fatal(err)
	}
	files, _, err := persistence.Files(disk.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "manifest.stint") {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "away")); err != nil {
			t.Fatal(err)
		}
		if err := startIn(t, dir); err == nil || !strings.Contains(err.Error(), name+" is missing: ") || !strings.Contains(err.Error(), "--repair") {
			t.Errorf("without %s: %v", name, err)
		}
		if code, stdout, _ := play(t, "inspect", dir); code != exitFailed || !strings.Contains(stdout, name+" is missing: ") {
			t.Errorf("without %s: exit %d, %s", name, code, stdout)
		}
		if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := startIn(t, dir); err != nil {
		t.Error(err)
	}
}

// A snapshot of a server's directory is a backup; the directory that it is restored to starts.
func TestRestoreOfASnapshot(t *testing.T) {
	dir := stoppedDir(t)
	if err := startIn(t, dir); err != nil {
		t.Fatal(err)
	}
	files, _, err := persistence.Files(disk.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(t.TempDir(), "next")
	if code, _, stderr := play(t, "restore", filepath.Join(dir, files[0]), next); code != 0 {
		t.Fatal(stderr)
	}
	if err := startIn(t, next); err != nil {
		t.Error(err)
	}
}

// A server alone does not begin beside the state of a node.
func TestStartInTheDirectoryOfANode(t *testing.T) {
	for _, name := range []string{"node.json", "votes-1.bolt", "votes-2.bolt", "clock.json"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := startIn(t, dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("with %s: %v", name, err)
		}
	}
}

// An inspection of a node's directory names a file that is missing, or that is another node's.
func TestInspectNodeWithoutAFile(t *testing.T) {
	made := func() (dir string) {
		dir = t.TempDir()
		disk, err := raftstore.Open(dir, raftstore.OwnLog, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		_, err = disk.Incarnation("a")
		err = errors.Join(err, disk.Stable().SetUint64([]byte("CurrentTerm"), 2), disk.Logs().StoreLog(&raft.Log{Index: 1, Term: 2, Type: raft.LogNoop}), disk.SaveClock(raftstore.SavedClock{Cluster: 1}), disk.Close())
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dir, other := made(), made()
	if code, stdout, _ := play(t, "inspect", dir); code != 0 {
		t.Fatal(stdout)
	}
	for _, name := range []string{"node.json", "votes-1.bolt", "votes-2.bolt", "clock.json", "manifest.stint", "log/manifest.stint", "log/log-00000000000000000001.stint", "log"} {
		path := filepath.Join(dir, name)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if code, stdout, _ := play(t, "inspect", dir); code != exitFailed && name != "clock.json" && !strings.HasPrefix(name, "votes") {
			t.Errorf("without %s: exit %d, %s", name, code, stdout)
		}
		if name != "log" {
			data, err := os.ReadFile(filepath.Join(other, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if code, stdout, _ := play(t, "inspect", dir); code != exitFailed && !strings.HasPrefix(name, "votes") {
				t.Errorf("with another %s: exit %d, %s", name, code, stdout)
			}
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
}
