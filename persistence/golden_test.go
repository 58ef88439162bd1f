package persistence

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/persistence/disk"
)

var update = flag.Bool("update", false, "write the golden files of this version of the format")

// newestGolden is the directory of this version of the format; files of the same version without an identity are in v2.
const newestGolden = "testdata/golden/v2-identity"

// shown is everything a store holds, as text.
func shown(s *store.Store) string {
	var text strings.Builder
	s.Scan(0, 1<<30, 0, func(e keyspace.Entry) {
		fmt.Fprintf(&text, "%q %s %v %x\n", e.Key, e.Limit.Algorithm, e.Limit.Params(), e.State)
	})
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	for _, name := range s.PolicyNames() {
		p, _ := s.Policy(name)
		lines = append(lines, fmt.Sprintf("policy %s shadow=%t parts=%s overrides=%s", name, p.Shadow, partsOf(p.Parts), overridesOf(p.Overrides)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func partsOf(ops []engine.Op) (text string) {
	for _, op := range ops {
		text += fmt.Sprintf("[%s %s %s %v]", op.Key, op.Who, op.Limit.Algorithm, op.Limit.Params())
	}
	return text
}

func overridesOf(all []policy.Override) (text string) {
	for _, o := range all {
		text += o.ID + partsOf(o.Parts)
	}
	return text
}

// writeGolden makes a directory with a snapshot and a journal that hold every kind of record.
func writeGolden(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatalf("%v: files of a released version stay as they are; remove them first if no release writes them", err)
	}
	s, now := store.New(store.Config{Shards: 1, Commands: setValues{}}), someTime
	defer s.Close()
	m, err := NewManager(Options{FS: disk.Dir(dir), Store: s, Clock: func() int64 { return now }, Log: quiet, Mode: Interval, JournalBytes: 1 << 30}, Recovered{})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(ops ...engine.Op) { s.Apply(now, ops, make([]engine.Result, len(ops))) }
	takeAll := func(prefix string, tokens int64) {
		for i, limit := range tokenLimits {
			apply(engine.Op{Key: fmt.Appendf(nil, "%s-%d", prefix, i), Limit: limit, Tokens: tokens, Who: []byte("holder")})
		}
	}
	flush := func() {
		if m.flush(); m.sync(true) != nil {
			t.Fatal(m.Err())
		}
	}
	policy := []engine.Op{{Key: []byte("user:{}"), Limit: tokenLimits[1]}, {Key: []byte("busy:{}"), Who: []byte("{}"), Limit: tokenLimits[8]}}
	takeAll("gone", 1)
	apply(engine.Op{Verb: engine.SetPolicy, Key: []byte("early"), Parts: policy, Options: engine.Shadow})
	apply(engine.Op{Verb: engine.SetOverride, Key: []byte("early"), Who: []byte("vip"), Parts: policy[:1]})
	flush()
	apply(engine.Op{Verb: engine.Flush})
	takeAll("early", 2)
	takeAll("both", 2)
	apply(setAllValues("early value"))
	apply(engine.Op{Key: []byte("deleted"), Limit: tokenLimits[0], Tokens: 5})
	apply(engine.Op{Key: []byte("binary \x00\xff"), Limit: tokenLimits[0], Tokens: 5})
	m.startSnapshot()
	m.finishSnapshot(<-m.snapshotDone)
	now += second / 1000
	takeAll("both", 1)
	takeAll("late", 3)
	apply(setAllValues("late value"))
	apply(engine.Op{Verb: engine.Delete, Key: []byte("deleted")})
	flush()
	apply(engine.Op{Verb: engine.SetPolicy, Key: []byte("late"), Parts: policy[:1]})
	apply(engine.Op{Verb: engine.SetPolicy, Key: []byte("dropped"), Parts: policy[:1]}, engine.Op{Verb: engine.DropPolicy, Key: []byte("dropped")})
	apply(engine.Op{Verb: engine.Refund, Key: []byte("late-0"), Tokens: 1})
	flush()
	m.journal.close()
	if err := os.WriteFile(filepath.Join(dir, "contents.txt"), []byte(shown(s)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The files of every version of the format are read with their original contents.
func TestGoldenFiles(t *testing.T) {
	if *update {
		writeGolden(t, newestGolden)
	}
	dirs, err := filepath.Glob("testdata/golden/v*")
	if err != nil || !slices.Contains(dirs, newestGolden) {
		t.Fatalf("%v, and there are %q", err, dirs)
	}
	for _, dir := range dirs {
		files := map[string][]byte{}
		names, err := disk.Dir(dir).List()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		s := store.New(store.Config{Shards: 1})
		// read from copies: recovery may sync and cut
		found, err := Recover(testdisk.Of(files), s, someTime, false, quiet)
		if err != nil || found.Snapshot == "" || found.Journals != 1 || found.CutBytes != 0 {
			t.Fatalf("%s: %v, %+v", dir, err, found)
		}
		if got, want := shown(s), string(files["contents.txt"]); got != want {
			t.Errorf("%s is read as\n%s\nwant\n%s", dir, got, want)
		}
		s.Close()
	}
}
