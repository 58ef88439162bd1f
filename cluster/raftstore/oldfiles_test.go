package raftstore

import (
	"bytes"
	"flag"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
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

// The files of every version are read. Those of a version that was released are never written again: node-v1 has votes in
// bbolt's format and snapshots in the Raft library's.
func TestGoldenFiles(t *testing.T) {
	if *update {
		writeGolden(t, filepath.Join("testdata", "node-v2"))
	}
	for name, incarnation := range map[string]string{"node-v1": "zhns2qhx", "node-v2": "golden"} {
		dir := goldenDir(t, name)
		for range 2 { // the conversion keeps the values
			got, err := factsOf(dir)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got.incarnation != incarnation || got.newest.Index != 10 || got.newest.Term != 3 || !reflect.DeepEqual(got.newest.Configuration, nodeConfiguration) {
				t.Errorf("%s: the incarnation is %s, its snapshot %+v", name, got.incarnation, got.newest)
			}
			got.incarnation, got.newest = goldenFacts.incarnation, goldenFacts.newest
			if !reflect.DeepEqual(got, goldenFacts) {
				t.Errorf("%s holds %+v, want %+v", name, got, goldenFacts)
			}
		}
		for _, old := range []string{"raft.db", "snapshots/3-10-*/meta.json"} {
			if found, _ := filepath.Glob(filepath.Join(dir, old)); len(found) > 0 {
				t.Errorf("%s: %s is still there", name, found)
			}
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

// Damage in the votes of an older version, which have no checksum, is an error and never a panic.
func TestDamagedOldVotes(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "node-v1", oldVotesFile))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), oldVotesFile)
	r, noticed := rand.New(rand.NewPCG(3, 4)), 0
	var used []int // zeros are of no page that is read
	for at, b := range whole {
		if b != 0 {
			used = append(used, at)
		}
	}
	try := func(damaged []byte) {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readOldVotes(path); err != nil {
			noticed++
			if !strings.Contains(err.Error(), oldVotesFile) {
				t.Errorf("the error is %v", err)
			}
		}
	}
	for range 100 * *flips {
		damaged := bytes.Clone(whole)
		damaged[used[r.IntN(len(used))]] ^= 1 << r.IntN(8)
		try(damaged)
	}
	for _, size := range []int{0, 1, 4096, 8192, len(whole) / 2} {
		try(whole[:size])
	}
	if noticed < 20**flips {
		t.Errorf("%d noticed", noticed)
	}
}

// A key that has another name, and terms that cannot be, are refused.
func TestOldVotesThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(values map[string][]byte){
		"a key renamed":           func(v map[string][]byte) { v["CurrentTerl"] = v["CurrentTerm"]; delete(v, "CurrentTerm") },
		"a term of 2^64-1":        func(v map[string][]byte) { v["CurrentTerm"] = bytes.Repeat([]byte{255}, 8) },
		"a term before the vote":  func(v map[string][]byte) { v["CurrentTerm"] = make([]byte, 8) },
		"a vote without its term": func(v map[string][]byte) { delete(v, "LastVoteTerm") },
	} {
		values := maps.Clone(goldenFacts.values)
		if err := checkOldVotes(values); err != nil {
			t.Error(err)
		}
		if change(values); checkOldVotes(values) == nil {
			t.Errorf("%s is believed", name)
		}
	}
}
