package raftnode

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/oncelog"
)

// Compactor keeps the log of a node's group short.
type Compactor struct {
	Raft     *Node
	Logs     *WatchedLog
	LogBytes int64 // the log's size at which a snapshot takes its place
	Log      *oncelog.Log
}

// Look takes a snapshot and drops the log before it when enough has been written since the last snapshot.
func (l *Compactor) Look(ctx context.Context) {
	if l.Logs.Bytes.Load() < l.LogBytes {
		return
	}
	if err := l.TakeSnapshot(); err != nil {
		l.Log.Warn("cannot compact the log", "error", err)
		clock.Sleep(ctx, 10*CompactionEvery)
	}
}

// CompactionEvery is the time between two calls of [Compactor.Look].
const CompactionEvery = 500 * time.Millisecond

// Shorten takes a snapshot if a node without a state would have to read more of the log than the state is long. A new
// member then gets the snapshot, because its first entry is no longer in the log.
func (l *Compactor) Shorten(stateBytes int64) error {
	if l.Logs.Bytes.Load() < max(stateBytes/2, minShortened) {
		return nil
	}
	return l.TakeSnapshot()
}

// minShortened is the length of a log that a new member reads at once.
const minShortened = 256 << 10

// TakeSnapshot writes a snapshot and leaves about a quarter of LogBytes in the log, but at most half of it, for nodes
// that were away for a short time.
func (l *Compactor) TakeSnapshot() error {
	bytes, entries := l.Logs.Bytes.Swap(0), l.Logs.Entries.Swap(0)
	keep := uint64(MinTrailing)
	if entries > 0 {
		keep = max(keep, min(uint64(l.LogBytes/4/max(1, bytes/entries)), uint64(entries/2)))
	}
	if err := l.Raft.Reload(func(c *raft.ReloadableConfig) { c.TrailingLogs = min(keep, maxTrailing) }); err != nil {
		return err
	}
	err := l.Raft.Snapshot().Error()
	if err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		l.Logs.Bytes.Add(bytes)
		l.Logs.Entries.Add(entries)
		return err
	}
	return nil
}

const maxTrailing = 100_000
