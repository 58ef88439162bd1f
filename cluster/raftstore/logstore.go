package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stintdb/stint/persistence/entrylog"
)

// logStore is Raft's log in package persistence's. An entry is
//
//	8  term
//	1  type
//	8  when the leader appended it, nanoseconds since the Unix epoch; 0 if it did not say
//	4  length of the extensions, and the extensions
//	   data
type logStore struct{ log entryLog }

// entryLog is a [entrylog.Log], or a group's part of a [entrylog.Shared].
type entryLog interface {
	Range() (first, last uint64)
	Get(index uint64) ([]byte, error)
	Append(entries []entrylog.Entry) error
	Syncs() int64
	Identity() uint64
	Position() uint64
	DropFrom(index uint64)
	DropBefore(index uint64) error
	Close() error
}

const logHead = 8 + 1 + 8 + 4

// FirstIndex implements raft.LogStore.
func (s logStore) FirstIndex() (uint64, error) {
	first, _ := s.log.Range()
	return first, nil
}

// LastIndex implements raft.LogStore.
func (s logStore) LastIndex() (uint64, error) {
	_, last := s.log.Range()
	return last, nil
}

// GetLog implements raft.LogStore.
func (s logStore) GetLog(index uint64, l *raft.Log) error {
	b, err := s.log.Get(index)
	if errors.Is(err, entrylog.ErrNoEntry) {
		return raft.ErrLogNotFound
	}
	if err != nil {
		return err
	}
	return DecodeEntry(index, b, l)
}

// DecodeEntry reads an entry that [EncodeEntry] wrote. The entry shares memory with b.
func DecodeEntry(index uint64, b []byte, l *raft.Log) error {
	if len(b) < logHead || uint64(binary.LittleEndian.Uint32(b[17:])) > uint64(len(b)-logHead) {
		return fmt.Errorf("entry %d of the log is too short: %d bytes", index, len(b))
	}
	rest := b[logHead:]
	n := binary.LittleEndian.Uint32(b[17:])
	*l = raft.Log{Index: index, Term: binary.LittleEndian.Uint64(b), Type: raft.LogType(b[8]), Extensions: rest[:n:n],
		Data: rest[n:]}
	if at := int64(binary.LittleEndian.Uint64(b[9:])); at != 0 {
		l.AppendedAt = time.Unix(0, at)
	}
	return nil
}

// StoreLog implements raft.LogStore.
func (s logStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (s logStore) StoreLogs(logs []*raft.Log) error {
	entries := make([]entrylog.Entry, len(logs))
	for i, l := range logs {
		entries[i] = entrylog.Entry{Index: l.Index, Data: EncodeEntry(l)}
	}
	return s.log.Append(entries)
}

// Syncs returns how often the file was synced for entries.
func (s logStore) Syncs() int64 { return s.log.Syncs() }

// EncodeEntry returns an entry as the log on disk holds it.
func EncodeEntry(l *raft.Log) []byte {
	b := appendEntryHead(make([]byte, 0, logHead+len(l.Extensions)+len(l.Data)), l)
	return append(append(b, l.Extensions...), l.Data...)
}

func appendEntryHead(b []byte, l *raft.Log) []byte {
	b = append(binary.LittleEndian.AppendUint64(b, l.Term), byte(l.Type))
	at := int64(0)
	if !l.AppendedAt.IsZero() {
		at = l.AppendedAt.UnixNano()
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	return binary.LittleEndian.AppendUint32(b, uint32(len(l.Extensions)))
}

// DeleteRange implements raft.LogStore: Raft drops the beginning of the log when there is a snapshot of it, the end if
// a leader has another, or all of it.
func (s logStore) DeleteRange(from, to uint64) error {
	first, last := s.log.Range()
	switch {
	case to < first || from > last:
		return nil
	case to >= last:
		s.log.DropFrom(from)
	}
	if from <= first {
		return s.log.DropBefore(to + 1)
	}
	if to < last {
		return errMiddle(from, to, first, last)
	}
	return nil
}

func errMiddle(from, to, first, last uint64) error {
	return fmt.Errorf("entries %d to %d are in the middle of the log, which has %d to %d", from, to, first, last)
}

// IsMonotonic implements raft.MonotonicLogStore: entries before a snapshot from another node are dropped, because the
// log must not have a gap.
func (s logStore) IsMonotonic() bool { return true }

// Identity returns the identity of the log's directory.
func (s logStore) Identity() uint64 { return s.log.Identity() }

// Position returns how much has been written, in a measure that only grows.
func (s logStore) Position() uint64 { return s.log.Position() }

// Close closes the files.
func (s logStore) Close() error { return s.log.Close() }
