package raftnode

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/timerslack"
)

// WatchedLog is the log on disk with measurements of its writes. While a write of the leader hangs, Raft's heartbeats
// go on, and the leader would stay leader without deciding anything. So the watch is outside Raft.
type WatchedLog struct {
	raft.LogStore
	began   atomic.Int64 // when the write under way began, nanoseconds of mono +1; 0 when none is
	mono    func() time.Duration
	late    time.Duration // a write that takes longer is slow
	slow    atomic.Int64  // when the last slow write ended, on the monotonic clock, or neverSlow
	Bytes   atomic.Int64  // written since the last snapshot
	Entries atomic.Int64

	failed atomic.Pointer[error] // the error of the last write; nil if it succeeded
}

// Err returns the error of the last write of entries; nil if it succeeded.
func (w *WatchedLog) Err() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// neverSlow is a time before any on the monotonic clock.
const neverSlow = -1

// NewWatchedLog watches a log. A write that takes longer than late is slow.
func NewWatchedLog(log raft.LogStore, mono func() time.Duration, late time.Duration) *WatchedLog {
	w := &WatchedLog{LogStore: log, mono: mono, late: late}
	w.slow.Store(neverSlow)
	return w
}

// IsSlow reports whether a slow write is under way, or has ended within a time.
func (w *WatchedLog) IsSlow(within time.Duration) bool {
	at := w.slow.Load()
	return at != neverSlow && w.mono()-time.Duration(at) < within || w.Stalled() > w.late
}

// StoreLog implements raft.LogStore.
func (w *WatchedLog) StoreLog(l *raft.Log) error { return w.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (w *WatchedLog) StoreLogs(logs []*raft.Log) error {
	timerslack.Reset()
	w.began.Store(int64(w.mono()) + 1)
	defer w.began.Store(0)
	err := w.LogStore.StoreLogs(logs)
	if w.Stalled() > w.late {
		w.slow.Store(int64(w.mono()))
	}
	if err != nil {
		failed := err // not err itself: every write would then allocate it
		w.failed.Store(&failed)
	} else {
		w.failed.Store(nil)
		size := 0
		for _, l := range logs {
			size += len(l.Data) + logOverhead
		}
		w.Bytes.Add(int64(size))
		w.Entries.Add(int64(len(logs)))
	}
	return err
}

// Syncs returns how often the file was synced for entries; 0 if the log does not count it.
func (w *WatchedLog) Syncs() int64 {
	if log, counts := w.LogStore.(interface{ Syncs() int64 }); counts {
		return log.Syncs()
	}
	return 0
}

// DeleteRange implements raft.LogStore.
func (w *WatchedLog) DeleteRange(from, to uint64) error {
	w.began.Store(int64(w.mono()) + 1)
	defer w.began.Store(0)
	return w.LogStore.DeleteRange(from, to)
}

// IsMonotonic implements raft.MonotonicLogStore.
func (w *WatchedLog) IsMonotonic() bool { return isMonotonic(w.LogStore) }

func isMonotonic(log raft.LogStore) bool {
	s, ok := log.(raft.MonotonicLogStore)
	return ok && s.IsMonotonic()
}

// logOverhead is the approximate size of an entry without its data.
const logOverhead = 64

// Stalled returns how long the current write has been running.
func (w *WatchedLog) Stalled() time.Duration {
	began := w.began.Load()
	if began == 0 {
		return 0
	}
	return w.mono() - time.Duration(began-1)
}
