package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stintdb/stint/cluster/fsm"
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
	v := fsm.NewLoanVoider()
	defer v.Close()
	keys, _, err = persistence.CopyState(to, state, v.Void)
	return keys, err
}
