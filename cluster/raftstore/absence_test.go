package raftstore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testsize"
)

// moment is a node's directory, with the directories of two groups, and the node's promises until then.
type moment struct {
	what  string
	files map[string]fileOf // by their paths within it
	facts string
}

// fileOf is a file without the zeros at its end.
type fileOf struct {
	data []byte
	size int64
}

func (f fileOf) equal(other fileOf) bool {
	return f.size == other.size && bytes.Equal(f.data, other.data)
}

// readFiles reads all files in a directory.
func readFiles(t *testing.T, dir string) map[string]fileOf {
	t.Helper()
	all := map[string]fileOf{}
	for _, path := range files(t, dir) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = fileOf{bytes.Clone(bytes.TrimRight(data, "\x00")), int64(len(data))}
	}
	return all
}

// writeFiles makes a directory that holds files.
func writeFiles(t *testing.T, all map[string]fileOf) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, f := range all {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err = errors.Join(err, os.WriteFile(path, f.data, 0o600), os.Truncate(path, f.size)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// startAll opens a node's directory and its groups' directories.
func startAll(dir string, kind LogKind, isNew bool) (all []*Dir, err error) {
	node, err := Open(dir, kind, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	all = append(all, node)
	_, err = node.Incarnation("a")
	dirs := NewGroupDirs(dir, kind, slog.New(slog.DiscardHandler))
	for number := 1; number <= 2 && err == nil; number++ {
		var d *Dir
		if d, err = dirs.Open(number, isNew); err == nil {
			all = append(all, d)
			_, err = d.Incarnation("a")
		}
	}
	if err != nil {
		return nil, errors.Join(err, closeAll(all))
	}
	return all, nil
}

// promised describes all that a node must not forget: its votes, and the entries of its logs, or a snapshot of the
// entries before.
func promised(all []*Dir) (string, error) {
	var text strings.Builder
	for i, d := range all {
		for _, key := range slices.Sorted(maps.Keys(d.votes.records)) {
			fmt.Fprintf(&text, "group %d: %s %x\n", i, key, d.votes.records[key].value)
		}
		first, err := d.log.FirstIndex()
		if err != nil {
			return "", err
		}
		last, err := d.log.LastIndex()
		if err != nil {
			return "", err
		}
		covered := uint64(0)
		if s := d.snapshots.newest; s != nil {
			covered = s.Index
		}
		fmt.Fprintf(&text, "group %d: up to %d, from the beginning: %t\n", i, last, first <= covered+1)
		for at := max(first, 9); at <= last; at++ { // after the snapshots
			var e raft.Log
			if err := d.Logs().GetLog(at, &e); err != nil {
				return "", err
			}
			fmt.Fprintf(&text, "group %d: entry %d %d %s\n", i, at, e.Term, e.Data)
		}
	}
	return text.String(), nil
}

// moments returns moments of a node that votes, writes entries and snapshots, is killed, and is stopped.
func moments(t *testing.T, kind LogKind, named string) (all []moment) {
	t.Helper()
	dir := t.TempDir()
	next := uint64(1)
	for life := range 3 {
		dirs, err := startAll(dir, kind, life == 0)
		if err != nil {
			t.Fatal(err)
		}
		note := func(what string) {
			facts, err := promised(dirs)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, moment{fmt.Sprintf("life %d, %s", life+1, what), readFiles(t, dir), facts})
		}
		for i, d := range dirs {
			term := uint64(2*life + 1)
			err := d.Stable().SetUint64(termKey, term)
			for index := next; index < next+6; index++ {
				err = errors.Join(err,
					d.Logs().StoreLog(&raft.Log{Index: index, Term: term, Data: fmt.Appendf(nil, "%s of group %d", named, i)}))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		next += 6
		note("entries")
		for _, d := range dirs {
			if life == 1 {
				snapshotTo(t, d.Snapshots(), 3)
				snapshotTo(t, d.Snapshots(), 8)
				if err := d.Logs().DeleteRange(1, 6); err != nil {
					t.Fatal(err)
				}
			}
			err := errors.Join(d.Stable().SetUint64(termKey, uint64(2*life+2)), d.Stable().SetUint64(voteTermKey,
				uint64(2*life+2)), d.Stable().Set(voteKey, []byte("b")))
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := dirs[0].SaveClock(SavedClock{Cluster: 1 << 60, Wall: 1<<60 + int64(life)}); err != nil {
			t.Fatal(err)
		}
		note("a vote")
		if err := closeAll(dirs); err != nil {
			t.Fatal(err)
		}
		note2 := all[len(all)-1]
		all = append(all, moment{fmt.Sprintf("life %d, stopped", life+1), readFiles(t, dir), note2.facts})
	}
	return all
}

// change is what happens to a file.
type change struct {
	how, name string
	file      *fileOf // nil if it is removed
}

func changes(now, older, other map[string]fileOf) (all []change) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		all = append(all, change{"removed", name, nil})
		if old, is := older[name]; is && !old.equal(now[name]) {
			all = append(all, change{"aged", name, &old})
		}
		if foreign, is := other[name]; is && !foreign.equal(now[name]) {
			all = append(all, change{"swapped", name, &foreign})
		}
	}
	return all
}

func carryOut(now map[string]fileOf, all ...change) map[string]fileOf {
	next := maps.Clone(now)
	for _, c := range all {
		if delete(next, c.name); c.file != nil {
			next[c.name] = *c.file
		}
	}
	return next
}

// Any file, or any two, of a node's directory and its groups' may be missing, older than the others, or from another
// directory: a start names the fault and the remedy, or the node has all that it has promised.
func TestAbsence(t *testing.T) {
	for _, kind := range logKinds {
		t.Run(string(kind), func(t *testing.T) {
			own, others := moments(t, kind, "own"), moments(t, kind, "other")
			r := rand.New(rand.NewPCG(1, 1))
			tried, refused := 0, 0
			for at := 1; at < len(own); at++ {
				all := changes(own[at].files, own[at-1].files, others[at].files)
				if at > 3 {
					all = append(all, changes(own[at].files, own[at-3].files, nil)...)
				}
				for i, first := range all {
					for _, second := range all[i:] {
						if second.name == first.name && second != first || isLogOfLate(first, second) {
							continue
						}
						if one := second == first; one && r.IntN(testsize.Pick(20, 1)) > 0 || !one && r.IntN(testsize.Pick(600, 4)) > 0 {
							continue
						}
						files := carryOut(own[at].files, first, second)
						if slices.ContainsFunc(own, func(m moment) bool { return maps.EqualFunc(m.files, files, fileOf.equal) }) {
							continue
						}
						tried++
						if checkAbsence(t, fmt.Sprintf("%s, %s and %s, %s and %s", own[at].what, first.how, second.how, first.name,
							second.name), kind, files, own[at].facts) {
							refused++
						}
					}
				}
			}
			t.Logf("%d changes, of which %d are refused", tried, refused)
		})
	}
}

// isLogOfLate reports whether a log and its own manifest are both older. The manifest of the node notes how far a log
// has come only with a vote, the clock, a start and a stop.
func isLogOfLate(first, second change) bool {
	return first.how == "aged" && second.how == "aged" && filepath.Dir(first.name) == filepath.Dir(second.name) &&
		filepath.Base(filepath.Dir(first.name)) == LogDir
}

// checkAbsence reports whether a start refuses files. If it does not, it must have all promises.
func checkAbsence(t *testing.T, what string, kind LogKind, files map[string]fileOf, facts string) (refused bool) {
	t.Helper()
	dir := writeFiles(t, files)
	defer func() { _ = os.RemoveAll(dir) }()
	all, err := startAll(dir, kind, false)
	if err != nil {
		if !errors.Is(err, ErrLostState) {
			t.Errorf("%s: %v", what, err)
		}
		return true
	}
	got, err := promised(all)
	if err != nil || got != facts {
		t.Errorf("%s: %v, the start has\n%s\nwant\n%s", what, err, got, facts)
	}
	if err := closeAll(all); err != nil {
		t.Error(err)
	}
	return false
}
