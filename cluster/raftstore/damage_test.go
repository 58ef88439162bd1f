package raftstore

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

var flips = flag.Int("flips", 4, "how many random bits of the files of a node's directory are changed, one at a time")

// nodeFacts is everything that a node relies on at its start.
type nodeFacts struct {
	incarnation string
	values      records
	first, last uint64
	newest      raft.SnapshotMeta
	state       string
	clock       SavedClock
	clockErr    bool
}

// factsOf starts a node's disk from a directory.
func factsOf(dir string, kind LogKind) (f nodeFacts, err error) {
	disk, err := Open(dir, kind, slog.New(slog.DiscardHandler))
	if err != nil {
		return f, err
	}
	defer disk.Close()
	f.values = disk.votes.records
	if f.first, err = disk.log.FirstIndex(); err != nil {
		return f, err
	}
	if f.last, err = disk.log.LastIndex(); err != nil {
		return f, err
	}
	if f.incarnation, err = disk.Incarnation("a"); err != nil {
		return f, err
	}
	list, err := disk.Snapshots().List()
	if err != nil || len(list) == 0 {
		return f, errors.Join(err, errors.New("no snapshot"))
	}
	meta, state, err := disk.Snapshots().Open(list[0].ID)
	if err != nil {
		return f, err
	}
	defer state.Close()
	text, err := io.ReadAll(state)
	f.newest, f.state = *meta, string(text)
	f.clock, err = disk.LoadClock()
	f.clockErr = err != nil
	return f, nil
}

var nodeConfiguration = raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: "a#1",
	Address: "127.0.0.1:1"}}}

// snapshotTo writes a snapshot that ends with an entry.
func snapshotTo(t *testing.T, store raft.SnapshotStore, index uint64) {
	t.Helper()
	sink, err := store.Create(1, index, 3, nodeConfiguration, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(sink, "the state at %d", index); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
}

// fullDir makes the directory of a node with two snapshots, of which the older ends before the log begins.
func fullDir(t *testing.T, kind LogKind) (dir string) {
	t.Helper()
	dir = t.TempDir()
	disk, err := Open(dir, kind, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	if _, err := disk.Incarnation("a"); err != nil {
		t.Fatal(err)
	}
	for _, set := range []func() error{
		func() error { return disk.Stable().SetUint64(termKey, 3) },
		func() error { return disk.Stable().SetUint64(voteTermKey, 3) },
		func() error { return disk.Stable().Set(voteKey, []byte("127.0.0.1:2")) },
		func() error { return disk.SaveClock(SavedClock{1 << 60, 1 << 60, "boot", 12345}) },
		func() error { snapshotTo(t, disk.Snapshots(), 3); return nil },
		func() error { snapshotTo(t, disk.Snapshots(), 10); return nil },
	} {
		if err := set(); err != nil {
			t.Fatal(err)
		}
	}
	for i := uint64(8); i <= 20; i++ {
		if err := disk.Logs().StoreLog(&raft.Log{Index: i, Term: 3, Data: make([]byte, 100)}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// files lists the files in a directory and below.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// checkDamaged starts with a damaged directory: it is refused with a sentence that names the file and the remedy, or
// nothing that the node relies on has changed.
func checkDamaged(t *testing.T, dir string, kind LogKind, path, what string, want nodeFacts) {
	t.Helper()
	got, err := factsOf(dir, kind)
	if err != nil {
		if !strings.Contains(err.Error(), filepath.Base(path)) || !strings.Contains(err.Error(),
			"start with an empty --dir") {
			t.Errorf("%s of %s: %v", what, path, err)
		}
		return
	}
	if filepath.Base(path) == clockFile && got.clockErr {
		got.clock, got.clockErr = want.clock, false // the start says so, and goes on without the clock
	}
	if filepath.Base(path) == boltLogFile && got.last == want.last-1 {
		got.last++ // the last write counts as torn by a crash, as it does in the other log
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s of %s is not noticed: %+v, want %+v", what, path, got, want)
	}
}

// Of a node's directory any bit of any file may change, any file be cut, emptied or removed.
func TestDamagedDirectory(t *testing.T) {
	for _, kind := range logKinds {
		t.Run(string(kind), func(t *testing.T) { damageDirectory(t, kind) })
	}
}

var logKinds = []LogKind{OwnLog, BoltLog}

func damageDirectory(t *testing.T, kind LogKind) {
	dir := fullDir(t, kind)
	want, err := factsOf(dir, kind)
	if err != nil || want.newest.Index != 10 || want.last != 20 || len(want.values) != 7 {
		t.Fatalf("%+v, %v", want, err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	all := files(t, dir)
	if len(all) != 9 {
		t.Fatalf("there are %q", all)
	}
	for _, path := range all {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, damaged []byte) {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			checkDamaged(t, dir, kind, path, what, want)
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		used := len(bytes.TrimRight(whole, "\x00"))
		for range *flips {
			damaged, at := bytes.Clone(whole), r.IntN(used*8)
			damaged[at/8] ^= 1 << (at % 8)
			try(fmt.Sprintf("bit %d", at), damaged)
		}
		try("everything", nil)
		try("the end", whole[:r.IntN(used)])
		if filepath.Base(path) == clockFile {
			continue // without it the node goes on as if it had never been written
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if got, err := factsOf(dir, kind); err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s is removed, and nobody notices: %+v", path, got)
		} else if err != nil && !strings.Contains(err.Error(), "start with an empty --dir") {
			t.Errorf("%s is removed: %v", path, err)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, snapshotsDir)); err != nil {
		t.Fatal(err)
	}
	if _, err := factsOf(dir, kind); err == nil || !strings.Contains(err.Error(),
		"the snapshot before the log is missing") {
		t.Errorf("without snapshots: %v", err)
	}
}

// Every byte of small files is tried, and every bit with more -flips.
func TestEveryBitOfSmallFiles(t *testing.T) {
	dir := fullDir(t, OwnLog)
	want, err := factsOf(dir, OwnLog)
	if err != nil {
		t.Fatal(err)
	}
	disk := &Dir{dir: dir}
	for _, path := range files(t, dir) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(path, LogDir+"/") {
			continue // package persistence tests it
		}
		if strings.HasSuffix(path, ".bolt") {
			continue // these files are larger: TestEveryBitOfVotes tries them
		}
		for at := 0; at < len(whole)*8; at += max(1, 9-*flips/10) {
			damaged := bytes.Clone(whole)
			damaged[at/8] ^= 1 << (at % 8)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			switch name := filepath.Base(path); {
			case name == IdentityFile:
				if id, err := disk.Incarnation("a"); err == nil && id != want.incarnation {
					t.Errorf("bit %d of %s is not noticed: %s", at, name, damaged)
				}
			case name == clockFile:
				if c, err := disk.LoadClock(); err == nil && c != want.clock {
					t.Errorf("bit %d of %s is not noticed: %s", at, name, damaged)
				}
			case filepath.Base(filepath.Dir(path)) == snapshotsDir:
				if _, state, err := openSnapshotFile(path, ""); err == nil {
					_ = state.Close()
					t.Errorf("bit %d of %s is not noticed", at, name)
				}
			}
		}
	}
}

// Every byte of each copy of the votes is tried, and every bit with more -flips.
func TestEveryBitOfVotes(t *testing.T) {
	dir := fullDir(t, OwnLog)
	for _, name := range votesFiles {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := parseRecords(whole)
		if err != nil || len(want) != 7 {
			t.Fatalf("%v, %v", want, err)
		}
		noticed := 0
		for at := 0; at < len(whole)*8; at += max(1, 9-*flips/10) {
			whole[at/8] ^= 1 << (at % 8)
			switch got, err := parseRecords(whole); {
			case err != nil:
				noticed++
			case !got.equal(want):
				t.Errorf("bit %d of %s is not noticed: %v", at, name, got)
			}
			whole[at/8] ^= 1 << (at % 8)
		}
		t.Logf("%s: of %d bits %d were noticed", name, len(whole)*8, noticed)
		if noticed < 200 {
			t.Error("too few are noticed")
		}
	}
}

// If the log goes on from the older snapshot, damage to the newer one costs nothing.
func TestOlderSnapshot(t *testing.T) {
	dir := fullDir(t, OwnLog)
	for _, path := range files(t, filepath.Join(dir, snapshotsDir)) {
		if strings.Contains(path, "-3-3-") {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, _, err := openSnapshots(dir, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.newest = nil // the next snapshots are older
	snapshotTo(t, s, 8)
	snapshotTo(t, s, 9) // the first of three snapshots is removed
	var log bytes.Buffer
	for _, path := range files(t, s.dir) {
		if strings.HasPrefix(filepath.Base(path), "3-10-") {
			if err := os.WriteFile(path, []byte("no snapshot"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	disk, err := Open(dir, OwnLog, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	list, err := disk.Snapshots().List()
	if err != nil || len(list) != 1 || list[0].Index != 9 {
		t.Errorf("the snapshot used is %+v, %v", list, err)
	}
	if !strings.Contains(log.String(), "the node continues from the previous one") {
		t.Errorf("it says %q", log.String())
	}
}

// The unfinished files of a crash are removed at the start.
func TestLeftOverFilesAreRemoved(t *testing.T) {
	dir := fullDir(t, OwnLog)
	want := files(t, dir)
	for _, name := range []string{"clock.json.123.tmp", "snapshots/2-18-1.stint.99.tmp", "snapshots/2-18-1.tmp/state.bin",
		"import-7.tmp"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := factsOf(dir, OwnLog); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); !reflect.DeepEqual(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}
