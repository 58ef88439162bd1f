// Package asynclog is the log of a Raft node that, as leader, sends its entries to others while its own disk still
// writes them.
package asynclog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/notifier"
)

// Log is a log for Raft in front of a durable one. It takes commands of the leader at once and writes them in order. A
// call with any other entry waits until the entry is on the disk, with everything before it. Code that relies on an
// entry of the leader asks [Log.Durable].
type Log struct {
	raft.LogStore
	leads func() bool // reports whether this node's Raft leads
	log   *slog.Logger

	mu      sync.Mutex
	pending []*raft.Log // taken and not yet durable, in order
	failed  error       // the error of the last attempt to write them
	batch   []*raft.Log // the entries that the writer writes

	durable atomic.Uint64     // index of the last entry on the disk
	moved   notifier.Notifier // broadcasts when durable, failed or stopped has changed
	came    notifier.Notifier // broadcasts when entries of the leader have been taken
	writer  *clock.Task
	ctx     context.Context // ends with Stop
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

const (
	// maxPending bounds the entries that are taken before the disk has them. The next one waits until all are on the
	// disk.
	maxPending = 16
	// retryEvery is the pause between two attempts to write the same entries.
	retryEvery = 100 * time.Millisecond
)

var errStopped = errors.New("this node is being closed")

// New returns a log in front of a durable one, to be closed. leads reports whether this node leads.
func New(durable raft.LogStore, leads func() bool, log *slog.Logger) (*Log, error) {
	last, err := durable.LastIndex()
	if err != nil {
		return nil, err
	}
	l := &Log{LogStore: durable, leads: leads, log: log}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.durable.Store(last)
	l.writer = clock.Repeat(l.ctx, &l.ended, l.write)
	return l, nil
}

// Stop ends all waits. Entries that the writer has not begun to write are lost, as in a crash.
func (l *Log) Stop() { l.stop() }

// Close is Stop, and then waits for the write under way.
func (l *Log) Close() {
	l.Stop()
	l.ended.Wait()
}

// Came returns a channel that is closed when this leader next takes an entry.
func (l *Log) Came() <-chan struct{} { return l.came.Wait() }

// Durable returns the index of the last entry on the disk.
func (l *Log) Durable() uint64 { return l.durable.Load() }

// StoreLog implements raft.LogStore.
func (l *Log) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs implements raft.LogStore. Raft calls it from one goroutine.
func (l *Log) StoreLogs(entries []*raft.Log) error {
	if l.take(entries) {
		return nil
	}
	if err := l.Drain(); err != nil {
		return err
	}
	err := l.LogStore.StoreLogs(entries)
	if err == nil {
		l.durable.Store(entries[len(entries)-1].Index)
		l.moved.Broadcast()
		l.came.Broadcast()
	}
	return err
}

// take takes commands of the leader. It checks under the lock that this node leads: so once the node does not lead and
// [Log.Drain] has returned, nothing is pending, nor will be.
func (l *Log) take(entries []*raft.Log) bool {
	for _, e := range entries {
		if e.Type != raft.LogCommand {
			return false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) >= maxPending || l.failed != nil || !l.leads() {
		return false
	}
	l.pending = append(l.pending, entries...)
	l.came.Broadcast()
	l.writer.Now()
	return true
}

// Drain waits until nothing is pending. An error says that the disk refuses the pending entries.
func (l *Log) Drain() error {
	for {
		moved := l.moved.Wait()
		l.mu.Lock()
		n, failed := len(l.pending), l.failed
		l.mu.Unlock()
		if n == 0 || failed != nil {
			return failed
		}
		select {
		case <-moved:
		case <-l.ctx.Done():
			return errStopped
		}
	}
}

// AwaitDurable waits until an entry is on the disk. It returns false if the log is stopped before.
func (l *Log) AwaitDurable(index uint64) bool {
	for l.durable.Load() < index {
		moved := l.moved.Wait()
		if l.durable.Load() >= index {
			break
		}
		select {
		case <-moved:
		case <-l.ctx.Done():
			return false
		}
	}
	return true
}

// GetLog implements raft.LogStore.
func (l *Log) GetLog(index uint64, entry *raft.Log) error {
	if index > l.durable.Load() && l.getPending(index, entry) {
		return nil
	}
	return l.LogStore.GetLog(index, entry)
}

func (l *Log) getPending(index uint64, entry *raft.Log) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 || index < l.pending[0].Index || index > l.pending[len(l.pending)-1].Index {
		return false
	}
	*entry = *l.pending[index-l.pending[0].Index]
	return true
}

// LastIndex implements raft.LogStore.
func (l *Log) LastIndex() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.pending); n > 0 {
		return l.pending[n-1].Index, nil
	}
	return l.LogStore.LastIndex()
}

// DeleteRange implements raft.LogStore. The end of the log is cut off after the writes under way.
func (l *Log) DeleteRange(from, to uint64) error {
	last, err := l.LastIndex()
	if err != nil {
		return err
	}
	isEnd := to >= last
	if isEnd {
		if err := l.Drain(); err != nil {
			return err
		}
	}
	if err := l.LogStore.DeleteRange(from, to); err != nil {
		return err
	}
	if isEnd {
		l.durable.Store(min(l.durable.Load(), from-1))
	}
	return nil
}

// IsMonotonic implements raft.MonotonicLogStore.
func (l *Log) IsMonotonic() bool {
	s, ok := l.LogStore.(raft.MonotonicLogStore)
	return ok && s.IsMonotonic()
}
