package raftstore

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/stintdb/stint/persistence"
)

// groupsDir is where a node's directory has those of its groups of keys.
const groupsDir = "groups"

// GroupDir is the directory of a group of keys in that of a node.
func GroupDir(dir string, number int) string {
	return filepath.Join(dir, groupsDir, fmt.Sprintf("%02d", number))
}

// OpenGroup is Open of a group's directory in that of a node. Unless it is new, it must be there: the group's votes are in it.
func OpenGroup(dir string, number int, isNew bool, kind LogKind, to *slog.Logger) (*Dir, error) {
	path := GroupDir(dir, number)
	if !isNew {
		if isUsed, err := isUsed(path); err != nil || !isUsed {
			return nil, fmt.Errorf("%s is missing or empty, although the node has been in the group; %w", path, ErrLostState)
		}
		return Open(path, kind, to)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	for _, d := range []string{dir, filepath.Dir(path)} {
		if err := persistence.Dir(d).SyncDir(); err != nil {
			return nil, err
		}
	}
	return Open(path, kind, to)
}
