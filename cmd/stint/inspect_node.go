package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stintdb/stint/persistence"
)

// What a node of a cluster keeps in its directory, as far as it is told here. Package cluster writes node.json, its
// libraries the others.
const (
	nodeFile     = "node.json"
	votesFile    = "raft.db"
	nodeLogDir   = "log"
	snapshotsDir = "snapshots"
)

// isNode reports whether a directory is that of a cluster's node.
func isNode(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, nodeFile))
	return err == nil
}

// node says what is in the directory of a cluster's node. It reports false if it is none.
func (i *inspector) node(path string) (is bool, err error) {
	text, err := os.ReadFile(filepath.Join(path, nodeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var node struct{ Node, Incarnation string }
	if err == nil {
		err = json.Unmarshal(text, &node)
	}
	if err != nil {
		return true, fmt.Errorf("%s: %w", filepath.Join(path, nodeFile), err)
	}
	i.files++
	fmt.Fprintf(i.out, "%s is the directory of the node %s of a cluster (incarnation %s)\n", path, node.Node, node.Incarnation)
	if info, err := os.Stat(filepath.Join(path, votesFile)); err == nil {
		fmt.Fprintf(i.out, "%s: its votes, %s; not checked here, the node does so when it starts\n", votesFile, count(info.Size(), "byte"))
	}
	if err := i.nodeLog(filepath.Join(path, nodeLogDir)); err != nil {
		return true, err
	}
	found, err := filepath.Glob(filepath.Join(path, snapshotsDir, "*", "meta.json"))
	for _, name := range found {
		if err := i.nodeSnapshot(name); err != nil {
			return true, err
		}
	}
	return true, err
}

// nodeLog reads a node's part of the log.
func (i *inspector) nodeLog(path string) error {
	first, last, files, err := persistence.InspectEntryLog(persistence.Dir(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, persistence.ErrNoLog) {
		err = nil
	}
	i.files += files
	if damage, ok := errors.AsType[*persistence.DamageError](err); ok {
		i.damaged++
		_, err = fmt.Fprintf(i.out, "%s: DAMAGED at offset %d: %v\n", filepath.Join(nodeLogDir, damage.Name), damage.Offset, damage.Err)
		return err
	}
	if err == nil && files > 0 {
		_, err = fmt.Fprintf(i.out, "%s: its part of the Raft log, entries %d to %d in %s\n", nodeLogDir, first, last, count(int64(files), "file"))
	}
	return err
}

// nodeSnapshot says what the Raft library notes of a snapshot. One that is removed meanwhile is passed over.
func (i *inspector) nodeSnapshot(name string) error {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var meta struct {
		Index, Term uint64
		Size        int64
	}
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	if err != nil {
		i.files, i.damaged = i.files+1, i.damaged+1
		fmt.Fprintf(i.out, "%s: DAMAGED: %v\n", name, err)
		return nil
	}
	i.files++
	_, err = fmt.Fprintf(i.out, "%s: a snapshot up to entry %d of the log, of term %d, %s\n",
		filepath.Join(snapshotsDir, filepath.Base(filepath.Dir(name))), meta.Index, meta.Term, count(meta.Size, "byte"))
	return err
}
