package raftstore

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files of this version")

// goldenFacts is the content of the golden directories.
var goldenFacts = nodeFacts{
	incarnation: "golden", clock: SavedClock{1 << 60, 1 << 60, "boot", 12345}, state: "the state at 10",
	values: records{
		"CurrentTerm": {1, []byte{0, 0, 0, 0, 0, 0, 0, 3}}, "LastVoteTerm": {1, []byte{0, 0, 0, 0, 0, 0, 0, 3}},
		"LastVoteCand":  {1, []byte("127.0.0.1:2")},
		"stint/cluster": {1, []byte("the-cluster")},
	},
}

// goldenDir is a copy of a golden directory.
func goldenDir(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The files of every released version are read, and never written again once the version is released. node-v3 is of
// release 0.2.0.
func TestGoldenFiles(t *testing.T) {
	if *update {
		writeGolden(t, filepath.Join("testdata", "node-v4"))
	}
	for _, name := range []string{"node-v3", "node-v4"} {
		got, err := factsOf(goldenDir(t, name), BoltLog)
		if err != nil {
			t.Fatal(err)
		}
		if got.newest.Index != 10 || got.newest.Term != 3 || !reflect.DeepEqual(got.newest.Configuration, nodeConfiguration) {
			t.Errorf("%s: its snapshot is %+v", name, got.newest)
		}
		want := goldenFacts
		if name == "node-v4" { // the first version whose files have an identity
			want.incarnation = got.incarnation
			for _, key := range [][]byte{directoryKey, incarnationKey, logKey} {
				if _, is := got.values[string(key)]; !is {
					t.Errorf("%s lacks %s", name, key)
				}
				delete(got.values, string(key))
			}
		}
		want.newest, want.first, want.last = got.newest, 8, 20
		maps.DeleteFunc(got.values, func(key string, _ record) bool { return key == string(snapshotKey) })
		for key, r := range got.values {
			got.values[key] = record{1, r.value}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s holds %+v, want %+v", name, got, want)
		}
	}
}

// Files without a checksum, as a build before 0.2.0 wrote them, are refused.
func TestUnsealedFilesAreRefused(t *testing.T) {
	for _, file := range []string{IdentityFile, clockFile} {
		dir := goldenDir(t, "node-v3")
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text[:len(text)-sealSize], '}')
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := factsOf(dir, BoltLog); err == nil && !got.clockErr {
			t.Errorf("%s is read as %+v", file, got)
		}
	}
}

func writeGolden(t *testing.T, dir string) {
	if _, err := os.Stat(dir); err == nil {
		t.Fatalf("%s is there: files of a released version stay as they are; remove them first if no release writes them",
			dir)
	}
	if err := os.CopyFS(dir, os.DirFS(fullDir(t, BoltLog))); err != nil {
		t.Fatal(err)
	}
	v, _, err := loadVotes(dir, "", func(records) error { return nil })
	if err == nil {
		err = errors.Join(v.Set(ClusterIDKey, []byte("the-cluster")), v.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
