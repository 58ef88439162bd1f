package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/boltfile"
	"github.com/stintdb/stint/persistence/disk"
	"github.com/stintdb/stint/persistence/entrylog"
)

// LogKind says what keeps Raft's log, in the words of the setting cluster-log.
type LogKind string

// The kinds of logs.
const (
	OwnLog  LogKind = "stint" // a entrylog.Log
	BoltLog LogKind = "boltdb"
)

// nodeLog is Raft's log in a node's directory.
type nodeLog interface {
	raft.LogStore
	Identity() uint64 // of its directory
	Position() uint64 // how much has been written, in a measure that only grows
	Close() error
}

// openLog opens the log in a node's directory, or begins one if the node is new.
func openLog(dir string, kind LogKind, isUsed bool) (nodeLog, error) {
	path := filepath.Join(dir, LogDir)
	if !isUsed {
		if err := makeLogDir(path); err != nil {
			return nil, err
		}
	}
	if is, err := logKind(path); err != nil {
		return nil, err
	} else if is != "" && is != kind {
		return nil, errKind(path, is, kind)
	}
	log, err := openKind(path, kind, !isUsed)
	if err != nil {
		return nil, logError(path, isUsed, err)
	}
	if last, err := log.LastIndex(); (last > 0 || err != nil) && !isUsed {
		return nil, errors.Join(fmt.Errorf("%s is missing, although %s holds a log; %w", filepath.Join(dir, IdentityFile),
			path, ErrLostState), err, log.Close())
	}
	return log, nil
}

func makeLogDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return disk.Dir(filepath.Dir(path)).SyncDir()
}

func errKind(path string, is, want LogKind) error {
	return fmt.Errorf("%s was written with --cluster-log %s, and this node has --cluster-log %s: set it to %s; or, while a majority of the other nodes runs, move the directory away and start with an empty --dir", path, is, want, is)
}

// logError adds the meaning and the remedy to an error of opening a log.
func logError(path string, isUsed bool, err error) error {
	_, isDamaged := errors.AsType[*disk.DamageError](err)
	switch {
	case errors.Is(err, disk.ErrNewer):
		return fmt.Errorf("%s: %w", path, err)
	case isUsed && (errors.Is(err, entrylog.ErrNoLog) || errors.Is(err, fs.ErrNotExist)):
		return fmt.Errorf("%s is missing or empty, although %s shows that the node has been in use; %w", path, IdentityFile,
			ErrLostState)
	case isDamaged || errors.Is(err, errDamaged):
		return fmt.Errorf("%s: %w; %w", path, err, ErrLostState)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func openKind(path string, kind LogKind, create bool) (nodeLog, error) {
	if kind == BoltLog {
		log, err := openBoltLog(path, create)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", boltLogFile, err)
		}
		return log, nil
	}
	log, err := entrylog.Open(disk.Dir(path), create)
	if err != nil {
		return nil, err
	}
	return logStore{log}, nil
}

// logKind returns the kind of the log in a directory; "" if there is none.
func logKind(path string) (LogKind, error) {
	names, err := disk.Dir(path).List()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, name := range names {
		switch {
		case name == boltLogFile:
			return BoltLog, nil
		case entrylog.IsFile(name):
			return OwnLog, nil
		}
	}
	return "", nil
}

// ErrLogInUse is the error for a log that cannot be read while a server writes to it.
var ErrLogInUse = boltfile.ErrInUse

// InspectLog reads the log in LogDir, and changes nothing. It returns the indexes of the first and the last entry, 0 if
// there is none, and the number of files, and a [disk.DamageError] if data is missing. It calls visit for every
// entry, as [EncodeEntry] encodes it; an error of visit ends it.
func InspectLog(path string, visit func(entrylog.Entry) error) (first, last uint64, files int, err error) {
	switch kind, err := logKind(path); {
	case err != nil:
		return 0, 0, 0, err
	case kind != BoltLog:
		return entrylog.Inspect(disk.Dir(path), visit)
	}
	file := filepath.Join(path, boltLogFile)
	store, err := boltfile.View(file)
	switch {
	case errors.Is(err, ErrLogInUse) || errors.Is(err, fs.ErrNotExist):
		return 0, 0, 1, err
	case err != nil:
		return 0, 0, 1, &disk.DamageError{Name: boltLogFile, Err: err}
	}
	l := &boltLog{path: file, store: store}
	if err = checkBoltLog(file); err == nil {
		err = l.each(func(entry *raft.Log) error {
			return visit(entrylog.Entry{Index: entry.Index, Data: EncodeEntry(entry)})
		})
	}
	if err == nil {
		first, last, err = store.Range()
	}
	if errors.Is(err, errDamaged) {
		err = &disk.DamageError{Name: boltLogFile, Err: err}
	}
	return first, last, 1, errors.Join(err, l.Close())
}
