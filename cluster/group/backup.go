package group

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
)

// backupBarrierTimeout bounds the wait for a leader. It covers an election.
const backupBarrierTimeout = 10 * time.Second

// Backup writes the cluster's state as it was at one entry of the log, behind everything acknowledged before the call, in the
// format of package persistence. Tokens that nodes held then count as spent. This node writes a snapshot to its disk, and sends
// that. It returns the number of keys written.
//
// With stale, which needs no leader, it is the state that this node has: the last entries may be missing.
//
// Missing are the tokens of the leader's allowance: limits that are full again within [limits.MaxAllowanceTime].
func (g *Group) Backup(ctx context.Context, to io.Writer, stale bool) (keys int64, err error) {
	if !stale {
		asking, cancel := context.WithTimeout(ctx, backupBarrierTimeout)
		err = g.Barrier(asking)
		cancel()
		if err != nil {
			return 0, fmt.Errorf("this node does not know whether its state is current: %w; try again when the cluster has a leader, or take the state as it is here, with --stale", err)
		}
	}
	if err := g.Snapshot(ctx); err != nil {
		return 0, fmt.Errorf("cannot write a snapshot: %w", err)
	}
	all, err := g.opt.Disk.Snapshots().List()
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, errors.New("the cluster has no state yet")
	}
	_, state, err := g.opt.Disk.Snapshots().Open(all[0].ID)
	if err != nil {
		return 0, err
	}
	defer state.Close()
	if _, err := fsm.ReadSnapshotHead(state); err != nil {
		return 0, err
	}
	v := &loanVoider{store: store.New(store.Config{Shards: 1})}
	defer v.store.Close()
	keys, _, err = persistence.CopyState(to, state, v.void)
	return keys, err
}

// loanVoider charges the tokens that are lent to nodes.
type loanVoider struct{ store *store.Store } // empty between calls

// void returns an entry without loans of nodes, whose tokens count as spent at now.
func (v *loanVoider) void(now int64, e keyspace.Entry) (keyspace.Entry, error) {
	if !e.Limit.Algorithm.IsLent() {
		return e, nil // it has no loans
	}
	if err := v.store.Load(now, e); err != nil {
		return e, err
	}
	defer v.store.Unload(bytes.Clone(e.Key))
	var ops []engine.Op
	v.store.ScanLoans(0, func(key, holder []byte, _ int64) {
		if _, _, isNode := fsm.SplitHolder(holder); isNode {
			ops = append(ops, engine.Op{Verb: engine.Void, Key: key, Who: holder, Options: engine.Force})
		}
	})
	if len(ops) == 0 {
		return e, nil
	}
	results := make([]engine.Result, len(ops))
	v.store.Apply(now, ops, results)
	for i := range results {
		if results[i].Status != engine.OK {
			return e, fmt.Errorf("a loan of key %q cannot be voided: status %d", e.Key, results[i].Status)
		}
	}
	v.store.Scan(0, 1, now, func(changed keyspace.Entry) {
		e = keyspace.Entry{Key: bytes.Clone(changed.Key), Limit: changed.Limit, State: bytes.Clone(changed.State)}
	})
	return e, nil
}
