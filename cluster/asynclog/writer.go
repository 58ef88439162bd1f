package asynclog

import (
	"context"
	"time"

	"github.com/stintdb/stint/cluster/clock"
)

// write writes the pending entries, in order. A write that fails is repeated until it succeeds: other nodes may have
// the entries by then, so they must not leave this node's log. Nothing relies on them before they are written.
func (l *Log) write(context.Context) (pause time.Duration) {
	l.mu.Lock()
	l.batch = append(l.batch[:0], l.pending...)
	l.mu.Unlock()
	if len(l.batch) == 0 {
		return clock.Never
	}
	err := l.LogStore.StoreLogs(l.batch)
	l.note(err)
	clear(l.batch)
	if err != nil {
		return retryEvery
	}
	return 0
}

// note notes that the batch, the first of the pending entries, was written, or why not.
func (l *Log) note(err error) {
	if err == nil {
		l.durable.Store(l.batch[len(l.batch)-1].Index)
	}
	l.mu.Lock()
	before := l.failed
	l.failed = err
	if err == nil {
		n := copy(l.pending, l.pending[len(l.batch):])
		clear(l.pending[n:])
		l.pending = l.pending[:n]
	}
	l.mu.Unlock()
	l.moved.Broadcast()
	switch {
	case err != nil && before == nil:
		l.log.Error("the disk refuses this leader's log entries, so it grants nothing and keeps retrying; check that the disk has room, and the kernel's log", "reason", err)
	case err == nil && before != nil:
		l.log.Info("the disk accepts this node's log entries again")
	}
}

// Fails reports whether the disk refuses the pending entries.
func (l *Log) Fails() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed != nil
}
