package raftstore

import (
	"flag"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stintdb/stint/persistence"
)

var update = flag.Bool("update", false, "write the golden files of this version")

// goldenFacts is the content of the golden directories.
var goldenFacts = nodeFacts{
	incarnation: "golden", clock: SavedClock{1 << 60, 1 << 60, "boot", 12345}, state: "the state at 10",
	values: map[string][]byte{
		"CurrentTerm": {0, 0, 0, 0, 0, 0, 0, 3}, "LastVoteTerm": {0, 0, 0, 0, 0, 0, 0, 3}, "LastVoteCand": []byte("127.0.0.1:2"), "stint/cluster": []byte("the-cluster"),
	},
}

// goldenDir is a copy of a golden directory, with an empty log, which would take 8 MiB.
func goldenDir(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, LogDir), 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := persistence.OpenEntryLog(persistence.Dir(filepath.Join(dir, LogDir)), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The files of every released version are read, and never written again once the version is released.
func TestGoldenFiles(t *testing.T) {
	if *update {
		writeGolden(t, filepath.Join("testdata", "node-v2"))
	}
	got, err := factsOf(goldenDir(t, "node-v2"))
	if err != nil {
		t.Fatal(err)
	}
	if got.newest.Index != 10 || got.newest.Term != 3 || !reflect.DeepEqual(got.newest.Configuration, nodeConfiguration) {
		t.Errorf("its snapshot is %+v", got.newest)
	}
	got.newest = goldenFacts.newest
	if !reflect.DeepEqual(got, goldenFacts) {
		t.Errorf("it holds %+v, want %+v", got, goldenFacts)
	}
}

// Files without a checksum, as a build before 0.2.0 wrote them, are refused.
func TestUnsealedFilesAreRefused(t *testing.T) {
	for _, file := range []string{IdentityFile, clockFile} {
		dir := goldenDir(t, "node-v2")
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text[:len(text)-sealSize], '}')
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := factsOf(dir); err == nil && !got.clockErr {
			t.Errorf("%s is read as %+v", file, got)
		}
	}
}

func writeGolden(t *testing.T, dir string) {
	if err := os.MkdirAll(filepath.Join(dir, snapshotsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	disk := &Dir{dir: dir}
	text, err := seal(identity{"a", "golden"})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, IdentityFile), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.SaveClock(goldenFacts.clock); err != nil {
		t.Fatal(err)
	}
	v, err := createVotes(persistence.Dir(dir), maps.Clone(goldenFacts.values))
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	s, _, err := openSnapshots(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	snapshotTo(t, s, 10)
}
