package asynclog

import (
	"time"

	"github.com/hashicorp/raft"
)

// write writes the pending entries, in order, until Stop. A write that fails is repeated until it succeeds: others may have it by then, so it must not
// leave this node's log, and nothing rests on it before.
func (l *Log) write() {
	var batch []*raft.Log
	for {
		select {
		case <-l.wake:
		case <-l.stopped:
			return
		}
		for batch = l.next(batch[:0]); len(batch) > 0; batch = l.next(batch[:0]) {
			err := l.LogStore.StoreLogs(batch)
			l.note(batch, err)
			if err != nil {
				l.pause()
			}
			if l.isStopped() {
				return
			}
		}
	}
}

// next appends the pending entries to batch.
func (l *Log) next(batch []*raft.Log) []*raft.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(batch, l.pending...)
}

// note notes that the first of the pending entries were written, or why not.
func (l *Log) note(batch []*raft.Log, err error) {
	if err == nil {
		l.durable.Store(batch[len(batch)-1].Index)
	}
	l.mu.Lock()
	before := l.failed
	l.failed = err
	if err == nil {
		n := copy(l.pending, l.pending[len(batch):])
		clear(l.pending[n:])
		l.pending = l.pending[:n]
	}
	l.mu.Unlock()
	l.moved.Broadcast()
	switch {
	case err != nil && before == nil:
		l.log.Error("the disk does not take this leader's entries: nothing is granted by them, and they are written again until it does; see that it has room, and its kernel log", "reason", err)
	case err == nil && before != nil:
		l.log.Info("the disk takes this node's entries again")
	}
}

// Fails reports whether the disk refuses the pending entries.
func (l *Log) Fails() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed != nil
}

func (l *Log) pause() {
	select {
	case <-time.After(retryEvery):
	case <-l.stopped:
	}
}

func (l *Log) isStopped() bool {
	select {
	case <-l.stopped:
		return true
	default:
		return false
	}
}
