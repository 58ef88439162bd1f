package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// watchedLog is the log on disk, with an eye on how long it takes and how much there is. While a write of the leader's
// hangs, Raft's main loop hangs with it, but its heartbeats go on: it would lead for ever without deciding anything. So
// the watch is kept outside.
type watchedLog struct {
	raft.LogStore
	began   atomic.Int64 // when the write under way began, nanoseconds of mono +1; 0 when none is
	mono    func() time.Duration
	bytes   atomic.Int64 // written since the last snapshot
	entries atomic.Int64
}

// StoreLog implements raft.LogStore.
func (w *watchedLog) StoreLog(l *raft.Log) error { return w.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (w *watchedLog) StoreLogs(logs []*raft.Log) error {
	w.began.Store(int64(w.mono()) + 1)
	defer w.began.Store(0)
	err := w.LogStore.StoreLogs(logs)
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

// logOverhead is about what an entry takes beside its data.
const logOverhead = 64

// stalled is how long the write under way has been taking.
func (w *watchedLog) stalled() time.Duration {
	began := w.began.Load()
	if began == 0 {
		return 0
	}
	return w.mono() - time.Duration(began-1)
}

// watchDisk cuts this node off from the others while its disk does not answer, so that they elect another leader, and
// joins in again when it does.
func (n *Node) watchDisk(ctx context.Context) {
	every(ctx, n.opt.DiskTimeout/10, func() {
		stalled := n.logs.stalled()
		switch muted := n.peers.muted.Load(); {
		case !muted && stalled > n.opt.DiskTimeout && n.raft.State() == raft.Leader:
			n.log.Error("the disk has not taken a write of the log for too long: this node gives up leadership until it does",
				"waited", stalled.Round(time.Millisecond), "disk_timeout", n.opt.DiskTimeout)
			n.abdicate()
			n.peers.mute(true)
		case muted && stalled == 0 && n.raft.State() != raft.Leader:
			n.log.Info("the disk takes writes again: this node is back")
			n.peers.mute(false)
		}
	})
}

// trimLog has a snapshot written, and the log before it dropped, when enough has been written since the last.
func (n *Node) trimLog(ctx context.Context) {
	every(ctx, trimEvery, func() {
		if n.logs.bytes.Load() < n.opt.LogBytes {
			return
		}
		if err := n.snapshot(); err != nil {
			n.log.Warn("the log could not be cut", "error", err)
			sleep(ctx, 10*trimEvery)
		}
	})
}

const trimEvery = 500 * time.Millisecond

// snapshot writes a snapshot and leaves about a quarter of LogBytes in the log behind it, for nodes that were away for
// a short time.
func (n *Node) snapshot() error {
	bytes, entries := n.logs.bytes.Load(), n.logs.entries.Load()
	n.logs.bytes.Add(-bytes)
	n.logs.entries.Add(-entries)
	keep := uint64(minTrailing)
	if entries > 0 {
		keep = max(keep, uint64(n.opt.LogBytes/4/max(1, bytes/entries)))
	}
	if err := n.retune(func(c *raft.ReloadableConfig) { c.TrailingLogs = min(keep, maxTrailing) }); err != nil {
		return err
	}
	err := n.raft.Snapshot().Error()
	if err != nil && err != raft.ErrNothingNewToSnapshot {
		n.logs.bytes.Add(bytes)
		n.logs.entries.Add(entries)
		return err
	}
	return nil
}

const (
	minTrailing = 64
	maxTrailing = 100_000
)
