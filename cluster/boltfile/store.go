// Package boltfile opens the files of raft-boltdb with more care than raft-boltdb itself: it checks their pages, and
// turns panics and faults of the disk into errors.
package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// Store is an open file of raft-boltdb. Its methods may be called from any goroutine.
type Store struct{ bolt *raftboltdb.BoltStore }

// lockTimeout bounds the wait for another process that has the file open. It is short, because the caller has locked
// the directory.
const lockTimeout = 100 * time.Millisecond

// ErrInUse is the error for a file that a running server has open.
var ErrInUse = errors.New("a running server uses it")

// Open opens a file that [Read] has found good, and makes sure that its contents are on the disk.
func Open(path string) (*Store, error) {
	if err := Settle(path); err != nil {
		return nil, err
	}
	return open(path, false)
}

// Settle makes the contents of a file durable after a write that failed, perhaps in an earlier process: the kernel may
// show a page that it has not written and never will. bbolt writes the first two pages once the others are on the disk.
func Settle(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	first := make([]byte, 2*pageSize)
	if _, err = f.ReadAt(first, 0); err == nil {
		_, err = f.WriteAt(first, 0)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// Create makes a file. The caller makes its name durable.
func Create(path string) (*Store, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return open(path, false)
}

// View opens a file only for reading, damaged or not: it relies on the first two pages only.
func View(path string) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return open(path, true)
}

func open(path string, readOnly bool) (s *Store, err error) {
	err = guard(func() error {
		// The list of free pages is not kept in the file: long after, a damaged list would let pages in use be overwritten.
		bolt, err := raftboltdb.New(raftboltdb.Options{Path: path, MsgpackUseNewTimeFormat: true, BoltOptions: &bbolt.Options{
			Timeout: lockTimeout, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, PageSize: pageSize,
			ReadOnly: readOnly,
		}})
		s = &Store{bolt}
		return err
	})
	if errors.Is(err, bbolt.ErrTimeout) { //nolint:staticcheck // raft-boltdb has no other name for it
		err = ErrInUse
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// guard turns a panic into an error, also the fault of mapped memory whose file cannot be read.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = damaged("%v", p)
		}
	}()
	return f()
}

// Set keeps a value durably.
func (s *Store) Set(key, value []byte) error {
	return guard(func() error { return s.bolt.Set(key, value) })
}

// Get reads a value; nil if there is none.
func (s *Store) Get(key []byte) (value []byte, err error) {
	err = guard(func() error {
		value, err = s.bolt.Get(key)
		if errors.Is(err, raftboltdb.ErrKeyNotFound) {
			return nil
		}
		return err
	})
	return value, err
}

// Range returns the indexes of the first and the last entry, both 0 if there is none.
func (s *Store) Range() (first, last uint64, err error) {
	err = guard(func() (err error) {
		if first, err = s.bolt.FirstIndex(); err == nil {
			last, err = s.bolt.LastIndex()
		}
		return err
	})
	return first, last, err
}

// GetLog reads an entry, or returns raft.ErrLogNotFound.
func (s *Store) GetLog(index uint64, l *raft.Log) error {
	return guard(func() error { return s.bolt.GetLog(index, l) })
}

// StoreLogs keeps entries durably.
func (s *Store) StoreLogs(logs []*raft.Log) error {
	return guard(func() error { return s.bolt.StoreLogs(logs) })
}

// DeleteRange drops entries durably.
func (s *Store) DeleteRange(from, to uint64) error {
	return guard(func() error { return s.bolt.DeleteRange(from, to) })
}

// Close closes the file.
func (s *Store) Close() error {
	if err := guard(s.bolt.Close); err != nil {
		return fmt.Errorf("closing a file of bbolt: %w", err)
	}
	return nil
}
