package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// compactLog takes a snapshot and drops the log before it when enough has been written since the last snapshot.
func (n *Node) compactLog(ctx context.Context) {
	every(ctx, compactionEvery, func() {
		if n.logs.bytes.Load() < n.opt.LogBytes {
			return
		}
		if err := n.takeSnapshot(); err != nil {
			n.log.Warn("cannot compact the log", "error", err)
			sleep(ctx, 10*compactionEvery)
		}
	})
}

const compactionEvery = 500 * time.Millisecond

// takeSnapshot writes a snapshot and leaves about a quarter of LogBytes in the log behind it, for nodes that were
// away for a short time.
func (n *Node) takeSnapshot() error {
	bytes, entries := n.logs.bytes.Load(), n.logs.entries.Load()
	n.logs.bytes.Add(-bytes)
	n.logs.entries.Add(-entries)
	keep := uint64(minTrailing)
	if entries > 0 {
		keep = max(keep, uint64(n.opt.LogBytes/4/max(1, bytes/entries)))
	}
	if err := n.raft.reload(func(c *raft.ReloadableConfig) { c.TrailingLogs = min(keep, maxTrailing) }); err != nil {
		return err
	}
	err := n.raft.Snapshot().Error()
	if err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
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
