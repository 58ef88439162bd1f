package persistence

import (
	"bytes"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/persistence/disk"
)

// A backup is read back from a stream, as a copy, and by a start in a directory that holds nothing else.
func TestBackupIsReadBack(t *testing.T) {
	s, now := busyStore(rand.New(rand.NewPCG(1, 26)), 3000), someTime+int64(9000)
	defer s.Close()
	want := s.Digest(now)
	var file, copied bytes.Buffer
	states, size, err := WriteBackup(&file, s, func() int64 { return now })
	if err != nil || size != int64(file.Len()) || states < 1000 {
		t.Fatal(states, size, file.Len(), err)
	}
	if n, size, err := CopyState(&copied, bytes.NewReader(file.Bytes())); err != nil || n != states || size != int64(copied.Len()) {
		t.Fatal(n, size, copied.Len(), err)
	}
	for name, content := range map[string][]byte{"a backup": file.Bytes(), "a copy": copied.Bytes()} {
		read := store.New(store.Config{Shards: 4})
		found, err := ReadBackup(name, bytes.NewReader(content), read, 0)
		if err != nil || found.Keys != states || found.Time != now || read.Digest(now) != want {
			t.Errorf("%s: %+v, %v, or another state", name, found, err)
		}
		read.Close()

		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, SnapshotName(0)), content, 0o600); err != nil {
			t.Fatal(err)
		}
		started := store.New(store.Config{Shards: 4})
		found, err = Recover(disk.Dir(dir), started, now, false, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil || found.Keys != states || started.Digest(now) != want {
			t.Errorf("%s, from a directory: %+v, %v, or another state", name, found, err)
		}
		m, err := NewManager(Options{FS: disk.Dir(dir), Store: started, Clock: func() int64 { return now }, Mode: Interval, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, found)
		if err != nil || m.number != 1 {
			t.Errorf("%s: the next journal has the number %d, %v", name, m.number, err)
		}
		m.journal.close()
		started.Close()
	}
}

// A damaged state is not copied as if it were whole.
func TestDamagedStateIsNotCopied(t *testing.T) {
	s := busyStore(rand.New(rand.NewPCG(2, 26)), 3000)
	defer s.Close()
	whole := writeState(t, s, someTime)
	for at := 0; at < len(whole); at += testsize.Pick(7, 1) * disk.BlockAlign {
		if _, _, err := CopyState(io.Discard, bytes.NewReader(whole[:at])); err == nil {
			t.Errorf("a state cut at %d of %d is copied", at, len(whole))
		}
		changed := bytes.Clone(whole)
		if changed[at] ^= 1; at == 0 || at == disk.HeaderBytes {
			if _, _, err := CopyState(io.Discard, bytes.NewReader(changed)); err == nil {
				t.Errorf("a state changed at %d is copied", at)
			}
		}
	}
	twice := append(bytes.Clone(whole), whole[disk.HeaderBytes:]...)
	if _, _, err := CopyState(io.Discard, bytes.NewReader(twice)); err == nil {
		t.Error("a state with another behind it is copied")
	}
}
