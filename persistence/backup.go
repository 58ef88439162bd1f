package persistence

import (
	"io"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence/disk"
)

// SnapshotName is the name under which a server reads a snapshot from its directory. A backup is a snapshot with the
// number 0.
func SnapshotName(number uint64) string { return disk.FileName(disk.SnapshotPrefix, number) }

// WriteBackup writes the entries and policies of a store that is in use. Each key has the state of one moment during
// the call; clock returns Unix nanoseconds. It rests between blocks, as snapshots do, holds no lock while it writes,
// and keeps one block in memory. It returns the number of entries and of bytes written.
func WriteBackup(to io.Writer, keys *store.Store, clock func() int64) (states, bytes int64, err error) {
	return writeStates(to, keys, clock, 0, 0, func() { time.Sleep(snapshotRest) })
}

// ReadBackup reads a backup, or another snapshot, into an empty store. Name is its name in errors, as of
// [ReadState]. Entries expired at now, Unix nanoseconds, are left out. It returns the latest time in the file.
func ReadBackup(name string, in io.Reader, keys *store.Store, now int64) (found Recovered, err error) {
	r := &recovery{store: keys, now: now}
	err = r.readBackup(name, in)
	return r.found, err
}

func (r *recovery) readBackup(name string, in io.Reader) error {
	r.found.Snapshot = name
	blocks, err := disk.NewBlockReader(name, in, disk.SnapshotMagic)
	if err != nil {
		return err
	}
	return r.loadAll(blocks)
}
