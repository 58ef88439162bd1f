package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/boltfile"
	"github.com/stintdb/stint/persistence/disk"
)

// boltLogFile is the log in LogDir if raft-boltdb keeps it. The extensions of each entry are followed by
//
//	1  version
//	4  CRC-32C of the entry's other fields, in the order of [EncodeEntry] after the index, and of the version
const boltLogFile = "log.bolt"

const (
	boltEntryVersion = 1
	boltEntrySeal    = 1 + 4
)

// boltLog is Raft's log in a file of raft-boltdb.
type boltLog struct {
	path     string
	store    *boltfile.Store
	pages    *os.File       // the file, to read the number of its last transaction
	manifest *disk.Manifest // of its directory; nil if the log is only inspected
	writing  sync.Mutex
	failed   bool // the last write failed: the file's contents may not be on the disk
}

// openBoltLog opens a log in a directory and reads all its entries. If create is set and there is no whole log, it
// begins one.
func openBoltLog(dir string, create bool) (*boltLog, error) {
	l := &boltLog{path: filepath.Join(dir, boltLogFile)}
	err := checkBoltLog(l.path)
	switch {
	case err == nil:
		l.store, err = boltfile.Open(l.path)
	case create && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged)):
		if l.store, err = boltfile.Create(l.path); err == nil {
			err = disk.Dir(dir).SyncDir()
		}
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(l.each(func(*raft.Log) error { return nil }), l.openManifest(dir)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// directoryKey is the key, in a log of raft-boltdb and beside the votes, of the identity of their directory. Logs and
// votes that no newer version than 0.2.0 has opened lack it.
var directoryKey = []byte("stint/directory")

// openManifest compares the log with the manifest of its directory.
func (l *boltLog) openManifest(dir string) error {
	known, err := l.store.Get(directoryKey)
	if err != nil {
		return err
	}
	if l.manifest, err = disk.OpenManifest(disk.Dir(dir), identityOf(known)); err != nil {
		return err
	}
	if l.pages, err = os.Open(l.path); err != nil {
		return err
	}
	has, err := boltfile.Transaction(l.pages)
	if err != nil {
		return err
	}
	if _, least := l.manifest.Raised(); has < least {
		return fmt.Errorf("%w: it is older than its directory's manifest: it has the transaction %d, and %d was on disk",
			errDamaged, has, least)
	}
	if known == nil {
		return l.write(func() error {
			return l.store.Set(directoryKey, binary.BigEndian.AppendUint64(nil, l.manifest.Identity()))
		})
	}
	return nil
}

// identityOf reads the value of [directoryKey].
func identityOf(value []byte) uint64 {
	if len(value) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(value)
}

// Identity returns the identity of the log's directory.
func (l *boltLog) Identity() uint64 { return l.manifest.Identity() }

// Position returns how much has been written, in a measure that only grows.
func (l *boltLog) Position() uint64 { return l.manifest.Position() }

// each reads all entries.
func (l *boltLog) each(visit func(*raft.Log) error) error {
	first, last, err := l.store.Range()
	for i := first; i > 0 && i <= last && err == nil; i++ {
		var entry raft.Log
		if err = l.GetLog(i, &entry); err == nil {
			err = visit(&entry)
		}
	}
	return err
}

// checkBoltLog checks all of a log except the contents of its entries.
func checkBoltLog(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		next := uint64(0)
		_, err = boltfile.Read(f, info.Size(), func(bucket string, key, _ []byte) error {
			if bucket == boltfile.Values && string(key) == string(directoryKey) {
				return nil
			}
			if bucket != boltfile.Logs || len(key) != 8 {
				return fmt.Errorf("%w: %q among the entries", errDamaged, key)
			}
			index := binary.BigEndian.Uint64(key)
			if next > 0 && index != next {
				return fmt.Errorf("%w: entry %d follows %d", errDamaged, index, next-1)
			}
			next = index + 1
			return nil
		})
	}
	return errors.Join(err, f.Close())
}

// FirstIndex implements raft.LogStore.
func (l *boltLog) FirstIndex() (uint64, error) {
	first, _, err := l.store.Range()
	return first, err
}

// LastIndex implements raft.LogStore.
func (l *boltLog) LastIndex() (uint64, error) {
	_, last, err := l.store.Range()
	return last, err
}

// GetLog implements raft.LogStore.
func (l *boltLog) GetLog(index uint64, entry *raft.Log) error {
	var read raft.Log
	if err := l.store.GetLog(index, &read); err != nil {
		return err
	}
	end := len(read.Extensions) - boltEntrySeal
	if end < 0 || read.Index != index {
		return fmt.Errorf("%w: entry %d", errDamaged, index)
	}
	seal := read.Extensions[end:]
	read.Extensions = read.Extensions[:end:end]
	if sum := sumEntry(&read, seal[0]); sum != binary.LittleEndian.Uint32(seal[1:]) {
		return fmt.Errorf("%w: entry %d", errDamaged, index)
	}
	if seal[0] > boltEntryVersion {
		return fmt.Errorf("entry %d, version %d: %w", index, seal[0], disk.ErrNewer)
	}
	if !read.AppendedAt.IsZero() {
		read.AppendedAt = time.Unix(0, read.AppendedAt.UnixNano())
	}
	*entry = read
	return nil
}

// sumEntry returns the checksum of an entry.
func sumEntry(l *raft.Log, version byte) uint32 {
	head := append(binary.LittleEndian.AppendUint64(nil, l.Index), version)
	head = appendEntryHead(head, l)
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, l.Extensions)
	return crc32.Update(sum, castagnoli, l.Data)
}

// StoreLog implements raft.LogStore.
func (l *boltLog) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs implements raft.LogStore. As in a [entrylog.Log], an entry replaces the entries in conflict with
// it: the old entry of its index and all later ones, or all entries if it would leave a gap.
func (l *boltLog) StoreLogs(entries []*raft.Log) error {
	sealed := make([]*raft.Log, len(entries))
	for i, e := range entries {
		one := *e
		one.Extensions = append(append(make([]byte, 0, len(e.Extensions)+boltEntrySeal), e.Extensions...), boltEntryVersion)
		one.Extensions = binary.LittleEndian.AppendUint32(one.Extensions, sumEntry(e, boltEntryVersion))
		sealed[i] = &one
	}
	return l.write(func() error {
		first, last, err := l.store.Range()
		if err == nil && last > 0 && len(entries) > 0 && entries[0].Index != last+1 {
			if from := entries[0].Index; from > first && from <= last {
				first = from
			}
			err = l.store.DeleteRange(first, last)
		}
		if err != nil {
			return err
		}
		return l.store.StoreLogs(sealed)
	})
}

// write makes a change. If the change before failed, the file is first made durable as it is.
func (l *boltLog) write(change func() error) (err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.failed {
		err = boltfile.Settle(l.path)
	}
	if err == nil {
		err = change()
	}
	if l.failed = err != nil; l.failed {
		return err
	}
	has, err := boltfile.Transaction(l.pages)
	return errors.Join(err, l.manifest.Raise(0, has))
}

// DeleteRange implements raft.LogStore.
func (l *boltLog) DeleteRange(from, to uint64) error {
	first, last, err := l.store.Range()
	if err != nil || to < first || from > last {
		return err
	}
	if from > first && to < last {
		return errMiddle(from, to, first, last)
	}
	return l.write(func() error { return l.store.DeleteRange(from, to) })
}

// IsMonotonic implements raft.MonotonicLogStore: a log with a gap would count as damaged.
func (l *boltLog) IsMonotonic() bool { return true }

// Close closes the file.
func (l *boltLog) Close() error {
	err := l.store.Close()
	if l.manifest != nil {
		err = errors.Join(err, l.manifest.Close())
	}
	if l.pages != nil {
		err = errors.Join(err, l.pages.Close())
	}
	return err
}
