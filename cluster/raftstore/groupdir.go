package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/stintdb/stint/persistence/disk"
	"github.com/stintdb/stint/persistence/entrylog"
)

// groupsDir is the part of a node's directory with the directories of its groups of keys.
const groupsDir = "groups"

// GroupDir returns the directory of a group of keys in a node's directory.
func GroupDir(dir string, number int) string {
	return filepath.Join(dir, groupsDir, fmt.Sprintf("%02d", number))
}

// GroupDirs are the directories of a node's groups of keys. Their logs are one [entrylog.Shared], unless they are
// raft-boltdb's.
type GroupDirs struct {
	dir  string // of the node
	kind LogKind
	to   *slog.Logger
	logs *entrylog.Shared // nil until the first is opened; the last Dir closes it
}

// NewGroupDirs returns the directories in a node's directory, with logs of a kind.
func NewGroupDirs(dir string, kind LogKind, to *slog.Logger) *GroupDirs {
	return &GroupDirs{dir: dir, kind: kind, to: to}
}

// SharedLogDir is the directory of the log of all groups of keys, in a node's directory.
const SharedLogDir = groupsDir + "/" + LogDir

// Open is [Open] for a group's directory, which must be there unless it is new: the group's votes are in it. It is
// called from one goroutine.
func (g *GroupDirs) Open(number int, isNew bool) (*Dir, error) {
	path := GroupDir(g.dir, number)
	if isNew {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		for _, d := range []string{g.dir, filepath.Dir(path)} {
			if err := disk.Dir(d).SyncDir(); err != nil {
				return nil, err
			}
		}
	} else if isUsed, err := isUsed(path); err != nil || !isUsed {
		return nil, fmt.Errorf("%s is missing or empty, although the node has been in the group; %w", path, ErrLostState)
	}
	if err := errors.Join(g.checkKind(path), CheckGroup(g.dir, number)); err != nil {
		return nil, err
	}
	d, err := open(path, g.to, func(isUsed bool) (nodeLog, error) {
		if g.kind == BoltLog {
			return openLog(path, g.kind, isUsed)
		}
		return g.openLog(number, isUsed, isNew)
	})
	if err != nil {
		return nil, err
	}
	if err := d.checkHome(g.dir); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := d.votes.SetUint64(groupKey, uint64(number)); err != nil {
		g.to.Warn("cannot record the number of a group in its directory", "dir", path, "error", err)
	}
	return d, nil
}

// groupKey is the key, beside the votes, of the number of their group. Directories that no newer version than 0.2.0 has
// opened lack it.
var groupKey = []byte("stint/group")

// CheckGroup returns an error if a group's directory in a node's directory holds the state of another group. It changes
// nothing.
func CheckGroup(dir string, number int) error {
	path := GroupDir(dir, number)
	value, err := ReadValue(path, groupKey)
	if err != nil || len(value) != 8 { // the reader of the votes reports damage
		return nil
	}
	if held := binary.BigEndian.Uint64(value); held != uint64(number) {
		return fmt.Errorf("%s holds the state of group %d, not of group %d: put back the directory that was there. Otherwise %w", path, held, number, ErrLostState)
	}
	return nil
}

// Remove closes the directory of a group that has left this node, and removes it with the group's log.
func (d *Dir) Remove() error {
	if shared, is := d.log.(logStore); is {
		if log, is := shared.log.(*entrylog.Group); is {
			if err := log.Forget(); err != nil {
				return errors.Join(err, d.Close())
			}
		}
	}
	return errors.Join(d.Close(), os.RemoveAll(d.dir), disk.Dir(filepath.Dir(d.dir)).SyncDir())
}

// checkKind returns an error if there are already logs of the other kind. They lie in another directory, so opening the
// logs would not find them.
func (g *GroupDirs) checkKind(path string) error {
	other, is := filepath.Join(path, LogDir), BoltLog
	if g.kind == BoltLog {
		other, is = filepath.Join(g.dir, SharedLogDir), OwnLog
	}
	if found, err := logKind(other); err != nil || found != is {
		return err
	}
	return errKind(other, is, g.kind)
}

// Clear removes the rest of a group that has left this node, before it begins again: its [Dir.Remove] may have been
// interrupted.
func (g *GroupDirs) Clear(number int) error {
	if err := os.RemoveAll(GroupDir(g.dir, number)); err != nil || g.kind == BoltLog {
		return err
	}
	if err := g.openShared(filepath.Join(g.dir, SharedLogDir), true); err != nil {
		return err
	}
	log := g.logs.Group(uint32(number))
	return errors.Join(log.Forget(), log.Close())
}

// openShared opens the log of all groups, unless it is open already.
func (g *GroupDirs) openShared(path string, isNew bool) error {
	if g.logs != nil && !g.logs.HasEnded() {
		return nil
	}
	if isNew {
		if err := makeLogDir(path); err != nil {
			return err
		}
	}
	logs, err := entrylog.OpenShared(disk.Dir(path), isNew, g.to)
	if err != nil {
		return logError(path, !isNew, err)
	}
	g.logs = logs
	return nil
}

// openLog returns a group's part of the log. For the first group the log is opened, or begun if the groups are new.
func (g *GroupDirs) openLog(number int, isUsed, isNew bool) (nodeLog, error) {
	path := filepath.Join(g.dir, SharedLogDir)
	if err := g.openShared(path, isNew); err != nil {
		return nil, err
	}
	log := g.logs.Group(uint32(number))
	if _, last := log.Range(); last > 0 && !isUsed {
		return nil, errors.Join(fmt.Errorf("%s is missing, although %s holds a log; %w",
			filepath.Join(GroupDir(g.dir, number), IdentityFile), path, ErrLostState), log.Close())
	}
	return logStore{log}, nil
}
