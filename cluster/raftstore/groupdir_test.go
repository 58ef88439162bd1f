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

const testGroups = 3

// openGroups opens the directories of all groups. Those that were opened before an error are closed.
func openGroups(dir string, kind LogKind, isNew bool) (all []*Dir, err error) {
	dirs := NewGroupDirs(dir, kind, slog.New(slog.DiscardHandler))
	for number := 1; number <= testGroups; number++ {
		d, err := dirs.Open(number, isNew)
		if err != nil {
			return nil, errors.Join(err, closeAll(all))
		}
		all = append(all, d)
	}
	return all, nil
}

func closeAll(all []*Dir) (err error) {
	for _, d := range all {
		err = errors.Join(err, d.Close())
	}
	return err
}

// usedGroups makes the directories of groups that have been used: group g has g entries.
func usedGroups(t *testing.T, kind LogKind) (dir string) {
	t.Helper()
	dir = t.TempDir()
	all, err := openGroups(dir, kind, true)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range all {
		_, err := d.Incarnation("a")
		err = errors.Join(err, d.Stable().SetUint64(termKey, 2))
		for index := range uint64(i + 1) {
			err = errors.Join(err, d.Logs().StoreLogs([]*raft.Log{{Index: index + 1, Term: 2, Type: raft.LogNoop}}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := closeAll(all); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Each group has its own entries after a start, in a common log or in a log of raft-boltdb each.
func TestGroupDirs(t *testing.T) {
	for _, kind := range logKinds {
		dir := usedGroups(t, kind)
		all, err := openGroups(dir, kind, false)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range all {
			if last, err := d.Logs().LastIndex(); err != nil || last != uint64(i+1) {
				t.Errorf("%s: group %d has entries up to %d, %v", kind, i+1, last, err)
			}
		}
		if err := closeAll(all); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, SharedLogDir)); (err == nil) != (kind == OwnLog) {
			t.Errorf("%s: the common log: %v", kind, err)
		}
		other := OwnLog
		if kind == OwnLog {
			other = BoltLog
		}
		if _, err := openGroups(dir, other, false); err == nil || !strings.Contains(err.Error(),
			"was written with --cluster-log "+string(kind)) {
			t.Errorf("%s, opened as %s: %v", kind, other, err)
		}
	}
}

// A node whose groups have lost a part of their files does not start, and the error has the remedy.
func TestGroupDirsThatLostSomething(t *testing.T) {
	for _, c := range []struct {
		name, lost, want string
		change           func(path string) error
	}{
		{"the log", SharedLogDir, "missing or empty", os.RemoveAll},
		{"a file of the log", SharedLogDir + "/log-00000000000000000001.stint", "is missing", os.Remove},
		{"the end of a file", SharedLogDir + "/log-00000000000000000001.stint", "bytes belong to it",
			func(path string) error { return os.Truncate(path, 1<<20) }},
		{"a group", groupsDir + "/02", "missing or empty", os.RemoveAll},
		{"a group's identity", groupsDir + "/02/" + IdentityFile, "missing or empty", os.Remove},
		{"a group's votes", groupsDir + "/02/" + votesFiles[0], "", func(path string) error {
			return errors.Join(os.Remove(path), os.Remove(filepath.Join(filepath.Dir(path), votesFiles[1])))
		}},
	} {
		dir := usedGroups(t, OwnLog)
		if err := c.change(filepath.Join(dir, c.lost)); err != nil {
			t.Fatal(err)
		}
		if _, err := openGroups(dir, OwnLog, false); !errors.Is(err, ErrLostState) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("without %s: %v", c.name, err)
		}
	}
	dir := usedGroups(t, OwnLog)
	if err := os.Remove(filepath.Join(GroupDir(dir, 2), IdentityFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := openGroups(dir, OwnLog, true); !errors.Is(err, ErrLostState) {
		t.Errorf("a group that begins, with entries: %v", err)
	}
}

// A directory that was copied over that of another group is refused, by a start and by an inspection. A directory of an
// earlier version, which has no number, is not refused, and has a number from its first start on.
func TestGroupDirOfAnotherGroup(t *testing.T) {
	const want = "02 holds the state of group 1, not of group 2"
	for _, kind := range logKinds {
		for _, hasStarted := range []bool{true, false} {
			dir := usedGroups(t, kind)
			for number := 1; number <= testGroups; number++ {
				v, _, err := loadVotes(GroupDir(dir, number), "", func(records) error { return nil })
				if err != nil {
					t.Fatal(err)
				}
				delete(v.records, "stint/group")
				if err := errors.Join(v.makeCopy(0), v.makeCopy(1), v.Close()); err != nil {
					t.Fatal(err)
				}
			}
			if hasStarted {
				all, err := openGroups(dir, kind, false)
				if err != nil {
					t.Fatalf("%s: of an earlier version: %v", kind, err)
				}
				if err := closeAll(all); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(os.RemoveAll(GroupDir(dir, 2)),
				os.CopyFS(GroupDir(dir, 2), os.DirFS(GroupDir(dir, 1)))); err != nil {
				t.Fatal(err)
			}
			if err := CheckGroup(dir, 2); (err != nil) != hasStarted {
				t.Errorf("%s, has started: %v: an inspection: %v", kind, hasStarted, err)
			}
			all, err := openGroups(dir, kind, false)
			if says := err != nil && strings.Contains(err.Error(), want) && errors.Is(err, ErrLostState); says != hasStarted {
				t.Errorf("%s, has started: %v: %v", kind, hasStarted, err)
			}
			if err := closeAll(all); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A group that has left the node, and is back, begins with nothing: if it is back at once, after a restart in between,
// or if the process ended before its directory was removed.
func TestGroupThatLeftAndIsBack(t *testing.T) {
	for _, kind := range []LogKind{OwnLog, BoltLog} {
		for _, how := range []string{"at once", "after a start", "interrupted", "the only one"} {
			dir := usedGroups(t, kind)
			dirs := NewGroupDirs(dir, kind, slog.New(slog.DiscardHandler))
			open := func(number int, isNew bool) *Dir {
				t.Helper()
				d, err := dirs.Open(number, isNew)
				if err != nil {
					t.Fatalf("%s, %s: %v", kind, how, err)
				}
				return d
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s, %s: %v", kind, how, err)
				}
			}
			left, other := open(3, false), (*Dir)(nil)
			if how != "the only one" {
				other = open(1, false)
			}
			if how == "interrupted" {
				must(left.Close())
			} else {
				must(left.Remove())
				if _, err := os.Stat(GroupDir(dir, 3)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s, %s: the directory is still there: %v", kind, how, err)
				}
			}
			if how == "after a start" {
				must(other.Close())
				dirs = NewGroupDirs(dir, kind, slog.New(slog.DiscardHandler))
				other = open(1, false)
			}
			check := func(back *Dir, want uint64) {
				t.Helper()
				first, _ := back.Logs().FirstIndex()
				last, _ := back.Logs().LastIndex()
				if last != want || want > 0 && first != want {
					t.Errorf("%s, %s: entries %d to %d, want %d", kind, how, first, last, want)
				}
			}
			must(dirs.Clear(3))
			back := open(3, true)
			_, err := back.Incarnation("a")
			must(err)
			check(back, 0)
			must(back.Stable().SetUint64(termKey, 9))
			must(back.Logs().StoreLogs([]*raft.Log{{Index: 1, Term: 9, Type: raft.LogNoop}}))
			must(back.Close())
			if other != nil {
				must(other.Close())
			}
			dirs = NewGroupDirs(dir, kind, slog.New(slog.DiscardHandler))
			back = open(3, false)
			check(back, 1)
			must(back.Close())
		}
	}
}
