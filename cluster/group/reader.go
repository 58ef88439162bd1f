package group

import (
	"context"
	"errors"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
)

// reader finds an entry of the log that covers everything acknowledged so far.
type reader struct {
	fsm       *fsm.Machine
	role      *leaderRole
	statuses  Statuses
	ownStatus func() MemberStatus
}

// await waits until this node has applied everything acknowledged before the call, and returns the index.
func (r *reader) await(ctx context.Context) (index uint64, err error) {
	for {
		if index, err = r.index(ctx); err == nil {
			break
		}
		if ctx.Err() != nil {
			return 0, err
		}
		clock.Sleep(ctx, r.role.leaseRenewal())
	}
	if !r.fsm.AwaitApplied(ctx, index) {
		return 0, errors.New("this node has not caught up with the leader in time")
	}
	return index, nil
}

// index returns an index of the log that covers everything acknowledged so far.
func (r *reader) index(ctx context.Context) (uint64, error) {
	own := r.ownStatus()
	if own.Leased {
		return own.Applied, nil
	}
	if own.Leader == "" || own.Leads {
		return 0, ErrNoLeader
	}
	leader, err := r.statuses.Fetch(ctx, own.Leader)
	if err == nil && !leader.Leased {
		err = ErrNoLeader
	}
	return leader.Applied, err
}
