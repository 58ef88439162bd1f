// Package persistencestatus is the status of snapshots and the journal as plain values: package persistence fills them
// in, package server shows them, and neither knows the other.
package persistencestatus

// Status is the state on disk of a standalone server.
type Status struct {
	Mode          string // of --durability
	Err           error  // why state is not kept at the moment, nil if it is
	Saving        bool   // a snapshot is being written
	LastSave      int64  // when the last snapshot was completed, nanoseconds since the Unix epoch, 0 for never
	LastSaveErr   error  // nil unless the last snapshot failed
	SnapshotBytes int64
	SnapshotKeys  int64
	JournalBytes  int64
	Journaled     int64 // bytes written to journals since the start
	FlushedUntil  int64 // all decided before is at least in the kernel's page cache; nanoseconds since the Unix epoch
}
