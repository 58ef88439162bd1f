package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stintdb/stint/cluster/fsm"
)

// LeaderTimeout bounds the wait of a backup for a leader. It covers an election.
const LeaderTimeout = 10 * time.Second

// OpenState returns the group's state at one entry of the log, after everything acknowledged before the call, in the
// format of package persistence. This node writes it to its disk as a snapshot.
//
// With stale, which needs no leader, it returns the state that this node has: the last entries may be missing.
func (g *Group) OpenState(ctx context.Context, stale bool) (io.ReadCloser, error) {
	if !stale {
		asking, cancel := context.WithTimeout(ctx, LeaderTimeout)
		err := g.Barrier(asking)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("this node does not know whether its state is current: %w; try again when the cluster has a leader, or take the state as it is here, with --stale", err)
		}
	}
	if err := g.Snapshot(ctx); err != nil {
		return nil, fmt.Errorf("cannot write a snapshot: %w", err)
	}
	all, err := g.opt.Disk.Snapshots().List()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("the cluster has no state yet")
	}
	_, state, err := g.opt.Disk.Snapshots().Open(all[0].ID)
	if err != nil {
		return nil, err
	}
	if _, err := fsm.ReadSnapshotHead(state); err != nil {
		return nil, errors.Join(err, state.Close())
	}
	return state, nil
}
