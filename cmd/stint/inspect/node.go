package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/persistence/disk"
	"github.com/stintdb/stint/persistence/entrylog"
)

// node describes the directory of a cluster's node, with the directories of its groups of keys. It reports false for
// any other directory.
func (i *inspector) node(path string) (is bool, err error) {
	if is, err := i.member(path, ""); !is || err != nil {
		if has := raftstore.HoldsNode(path); err == nil && has != "" {
			return true, i.damagedFile(raftstore.IdentityFile, "it is missing, although there is "+has)
		}
		return is, err
	}
	last, err := lastGroup(path)
	if err != nil {
		return true, err
	}
	for number := range last { // a number without a directory has lost it, unless its replica is elsewhere
		dir := raftstore.GroupDir(path, number+1)
		name, err := filepath.Rel(path, dir)
		if err != nil {
			return true, err
		}
		if is, err = i.member(dir, name); err == nil && !is && keygroups.HasReplica(path, number+1) {
			err = i.damagedFile(name, "it has no "+raftstore.IdentityFile)
		} else if wrong := raftstore.CheckGroup(path, number+1); err == nil && wrong != nil {
			err = i.damagedFile(name, wrong.Error())
		}
		if err != nil {
			return true, err
		}
	}
	shared := filepath.Join(path, raftstore.SharedLogDir)
	_, own := os.Stat(filepath.Join(raftstore.GroupDir(path, last), raftstore.LogDir))
	if _, err := os.Stat(shared); last > 0 && err != nil && own != nil {
		return true, i.damagedFile(raftstore.SharedLogDir, "it is missing")
	}
	return true, i.groupsLog(shared)
}

// lastGroup is the largest number of a group of keys that has a directory, 0 without any.
func lastGroup(path string) (last int, err error) {
	entries, err := os.ReadDir(filepath.Dir(raftstore.GroupDir(path, 1)))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range entries {
		if number, err := strconv.Atoi(e.Name()); err == nil {
			last = max(last, number)
		}
	}
	return last, err
}

// damagedFile reports a file or a directory that is missing, or is not this node's.
func (i *inspector) damagedFile(name, text string) error {
	i.files++
	i.damaged++
	_, err := fmt.Fprintf(i.out, "%s: DAMAGED: %s\n", name, text)
	return err
}

// member describes the directory of a node in one group, whose name is "" for the node's own directory.
func (i *inspector) member(path, name string) (is bool, err error) {
	found, err := fsm.Inspect(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	for _, f := range found {
		i.files++
		text := f.Text
		if f.Damaged {
			i.damaged++
			text = "DAMAGED: " + text
		}
		if _, err := fmt.Fprintf(i.out, "%s: %s\n", filepath.Join(name, f.File), text); err != nil {
			return true, err
		}
	}
	log := filepath.Join(path, raftstore.LogDir)
	if _, err := os.Stat(log); name == "" && err != nil {
		return true, i.damagedFile(raftstore.LogDir, "it is missing")
	}
	return true, i.nodeLog(log, filepath.Join(name, raftstore.LogDir))
}

// nodeLog reads a node's part of the log.
func (i *inspector) nodeLog(path, name string) error {
	l := inspectedLog{inspector: i, name: name}
	first, last, files, err := raftstore.InspectLog(path, func(e entrylog.Entry) error { return l.entry("", e) })
	return l.report(files, err, func() string { return fmt.Sprintf("its part of the Raft log, entries %d to %d", first, last) })
}

// groupsLog reads the log of a node's groups of keys.
func (i *inspector) groupsLog(path string) error {
	l := inspectedLog{inspector: i, name: raftstore.SharedLogDir}
	ranges, files, err := entrylog.InspectShared(disk.Dir(path), func(group uint32, e entrylog.Entry) error {
		return l.entry(fmt.Sprintf(" of group %d", group), e)
	})
	return l.report(files, err, func() string {
		parts := make([]string, 0, len(ranges))
		for _, group := range slices.Sorted(maps.Keys(ranges)) {
			parts = append(parts, fmt.Sprintf("%d to %d of group %d", ranges[group][0], ranges[group][1], group))
		}
		return "the Raft log of its groups of keys, entries " + strings.Join(parts, ", ")
	})
}

// inspectedLog is a log while it is read.
type inspectedLog struct {
	*inspector
	name    string
	refused string
}

// entry looks at an entry. of is a space and the group's name, if there is one.
func (l *inspectedLog) entry(of string, e entrylog.Entry) error {
	if err := fsm.InspectEntry(e.Index, e.Data); err != nil && l.refused == "" {
		l.refused = fmt.Sprintf("%s: CANNOT BE APPLIED: entry %d%s: %v. Every node of this version stops at this entry. Start all nodes with the newest version, "+
			"or with the version that wrote it; if no version can read it, start a new cluster with empty directories: all usage is then lost, and policies must be set again\n",
			l.name, e.Index, of, err)
	}
	l.line.Show(func() string { return fmt.Sprintf("reading %s: entry %d", l.name, e.Index) })
	return l.ctx.Err()
}

// report describes the files of a log.
func (l *inspectedLog) report(files int, err error, text func() string) error {
	if errors.Is(err, entrylog.ErrNoLog) {
		return l.damagedFile(l.name, "it has no part of the log")
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	l.files += files
	if errors.Is(err, raftstore.ErrLogInUse) {
		_, err = fmt.Fprintf(l.out, "%s: not read: %v, which checked it at its start\n", l.name, err)
		return err
	}
	if damage, ok := errors.AsType[*disk.DamageError](err); ok {
		l.damaged++
		if damage.IsOfDir() {
			_, err = fmt.Fprintf(l.out, "%s: DAMAGED: %v\n", l.name, damage)
			return err
		}
		_, err = fmt.Fprintf(l.out, "%s: DAMAGED at offset %d: %v\n", filepath.Join(l.name, damage.Name), damage.Offset, damage.Err)
		return err
	}
	if l.refused != "" {
		l.damaged++
		fmt.Fprint(l.out, l.refused)
	}
	if err == nil && files > 0 {
		_, err = fmt.Fprintf(l.out, "%s: %s in %s\n", l.name, text(), Count(int64(files), "file"))
	}
	return err
}

// logFile reads one file of a node's part of the log.
func (i *inspector) logFile(path string) error {
	first, last, err := entrylog.InspectFile(disk.Dir(filepath.Dir(path)), filepath.Base(path))
	i.files++
	if damage, ok := errors.AsType[*disk.DamageError](err); ok {
		i.damaged++
		_, err = fmt.Fprintf(i.out, "%s: DAMAGED at offset %d: %v\n", path, damage.Offset, damage.Err)
		return err
	}
	if err == nil {
		_, err = fmt.Fprintf(i.out, "%s: whole; entries %d to %d of the Raft log\n", path, first, last)
	}
	return err
}
