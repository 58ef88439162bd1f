package group

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// watchedLog is the log on disk with measurements of its writes. While a write of the leader hangs, Raft's main loop
// hangs with it, but its heartbeats go on: it would lead for ever without deciding anything. So the watch is outside
// Raft.
type watchedLog struct {
	raft.LogStore
	began   atomic.Int64 // when the write under way began, nanoseconds of mono +1; 0 when none is
	mono    func() time.Duration
	late    time.Duration // how long a write may take that is not slow
	slow    atomic.Int64  // when the last slow one ended, on the monotonic clock, or never
	bytes   atomic.Int64  // written since the last snapshot
	entries atomic.Int64
}

// StoreLog implements raft.LogStore.
func (w *watchedLog) StoreLog(l *raft.Log) error { return w.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (w *watchedLog) StoreLogs(logs []*raft.Log) error {
	w.began.Store(int64(w.mono()) + 1)
	defer w.began.Store(0)
	err := w.LogStore.StoreLogs(logs)
	if w.stalled() > w.late {
		w.slow.Store(int64(w.mono()))
	}
	if err == nil {
		size := 0
		for _, l := range logs {
			size += len(l.Data) + logOverhead
		}
		w.bytes.Add(int64(size))
		w.entries.Add(int64(len(logs)))
	}
	return err
}

// DeleteRange implements raft.LogStore.
func (w *watchedLog) DeleteRange(from, to uint64) error {
	w.began.Store(int64(w.mono()) + 1)
	defer w.began.Store(0)
	return w.LogStore.DeleteRange(from, to)
}

// IsMonotonic implements raft.MonotonicLogStore.
func (w *watchedLog) IsMonotonic() bool {
	s, ok := w.LogStore.(raft.MonotonicLogStore)
	return ok && s.IsMonotonic()
}

// logOverhead is the approximate size of an entry without its data.
const logOverhead = 64

// stalled returns how long the current write has been running.
func (w *watchedLog) stalled() time.Duration {
	began := w.began.Load()
	if began == 0 {
		return 0
	}
	return w.mono() - time.Duration(began-1)
}
