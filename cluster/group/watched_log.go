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
	slow    atomic.Int64  // when the last slow one ended, on the monotonic clock, or neverSlow
	bytes   atomic.Int64  // written since the last snapshot
	entries atomic.Int64
}

// neverSlow is a time before any on the monotonic clock.
const neverSlow = -1

func newWatchedLog(log raft.LogStore, mono func() time.Duration, late time.Duration) *watchedLog {
	w := &watchedLog{LogStore: log, mono: mono, late: late}
	w.slow.Store(neverSlow)
	return w
}

// isSlow reports whether a write was late that ended within a time, or is.
func (w *watchedLog) isSlow(within time.Duration) bool {
	at := w.slow.Load()
	return at != neverSlow && w.mono()-time.Duration(at) < within || w.stalled() > w.late
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
