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

// TakeSnapshot writes a snapshot and leaves about a quarter of LogBytes in the log, for nodes that were away for a
// short time.
func (l *Compactor) TakeSnapshot() error {
	bytes, entries := l.Logs.Bytes.Load(), l.Logs.Entries.Load()
	l.Logs.Bytes.Add(-bytes)
	l.Logs.Entries.Add(-entries)
	keep := uint64(MinTrailing)
	if entries > 0 {
		keep = max(keep, uint64(l.LogBytes/4/max(1, bytes/entries)))
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
