package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/persistence"
)

// isNode reports whether a directory is that of a cluster's node.
func isNode(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, raftstore.IdentityFile))
	return err == nil
}

// node describes the directory of a cluster's node. It reports false for any other directory.
func (i *inspector) node(path string) (is bool, err error) {
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
		if _, err := fmt.Fprintf(i.out, "%s: %s\n", f.File, text); err != nil {
			return true, err
		}
	}
	return true, i.nodeLog(filepath.Join(path, raftstore.LogDir))
}

// nodeLog reads a node's part of the log.
func (i *inspector) nodeLog(path string) error {
	var refused string
	first, last, files, err := raftstore.InspectLog(path, func(e persistence.LogEntry) error {
		if err := fsm.InspectEntry(e.Index, e.Data); err != nil && refused == "" {
			refused = fmt.Sprintf("%s: CANNOT BE APPLIED: entry %d: %v. Every node of this version stops at it. Start all nodes with the newest version, "+
				"or the one that wrote it; if none reads it, begin a new cluster with empty directories: all usage is then lost, and policies must be set again\n",
				raftstore.LogDir, e.Index, err)
		}
		i.line.show(func() string { return fmt.Sprintf("reading %s: entry %d", raftstore.LogDir, e.Index) })
		return i.ctx.Err()
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, persistence.ErrNoLog) {
		err = nil
	}
	i.files += files
	if errors.Is(err, raftstore.ErrLogInUse) {
		_, err = fmt.Fprintf(i.out, "%s: not read: %v, which checked it at its start\n", raftstore.LogDir, err)
		return err
	}
	if damage, ok := errors.AsType[*persistence.DamageError](err); ok {
		i.damaged++
		_, err = fmt.Fprintf(i.out, "%s: DAMAGED at offset %d: %v\n", filepath.Join(raftstore.LogDir, damage.Name), damage.Offset, damage.Err)
		return err
	}
	if refused != "" {
		i.damaged++
		fmt.Fprint(i.out, refused)
	}
	if err == nil && files > 0 {
		_, err = fmt.Fprintf(i.out, "%s: its part of the Raft log, entries %d to %d in %s\n", raftstore.LogDir, first, last, count(int64(files), "file"))
	}
	return err
}

// logFile reads one file of a node's part of the log.
func (i *inspector) logFile(path string) error {
	first, last, err := persistence.InspectLogFile(persistence.Dir(filepath.Dir(path)), filepath.Base(path))
	i.files++
	if damage, ok := errors.AsType[*persistence.DamageError](err); ok {
		i.damaged++
		_, err = fmt.Fprintf(i.out, "%s: DAMAGED at offset %d: %v\n", path, damage.Offset, damage.Err)
		return err
	}
	if err == nil {
		_, err = fmt.Fprintf(i.out, "%s: whole; entries %d to %d of the Raft log\n", path, first, last)
	}
	return err
}
