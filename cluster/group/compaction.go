package group

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/raftnode"
)

// logCompactor keeps the log short.
type logCompactor struct {
	opt  *Config
	raft *raftnode.Node
	logs *raftnode.WatchedLog
	log  *oncelog.Log
}

// run takes a snapshot and drops the log before it when enough has been written since the last snapshot.
func (l *logCompactor) run(ctx context.Context) {
	clock.Every(ctx, compactionEvery, func() {
		if l.logs.Bytes.Load() < l.opt.LogBytes {
			return
		}
		if err := l.takeSnapshot(); err != nil {
			l.log.Warn("cannot compact the log", "error", err)
			clock.Sleep(ctx, 10*compactionEvery)
		}
	})
}

const compactionEvery = 500 * time.Millisecond

// takeSnapshot writes a snapshot and leaves about a quarter of LogBytes in the log behind it, for nodes that were
// away for a short time.
func (l *logCompactor) takeSnapshot() error {
	bytes, entries := l.logs.Bytes.Load(), l.logs.Entries.Load()
	l.logs.Bytes.Add(-bytes)
	l.logs.Entries.Add(-entries)
	keep := uint64(raftnode.MinTrailing)
	if entries > 0 {
		keep = max(keep, uint64(l.opt.LogBytes/4/max(1, bytes/entries)))
	}
	if err := l.raft.Reload(func(c *raft.ReloadableConfig) { c.TrailingLogs = min(keep, maxTrailing) }); err != nil {
		return err
	}
	err := l.raft.Snapshot().Error()
	if err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		l.logs.Bytes.Add(bytes)
		l.logs.Entries.Add(entries)
		return err
	}
	return nil
}

const maxTrailing = 100_000
