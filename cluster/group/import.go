package group

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/raftnode"
)

// Source is the state that an import brings to a group.
type Source struct {
	// Open opens the state, in the format of package persistence, once it is known to be whole.
	Open func() (state io.ReadCloser, size int64, err error)
	At   int64 // its time, in nanoseconds since the Unix epoch
}

// Import initializes the group with a state that the cluster awaits. It waits until the cluster is bootstrapped and
// this node leads the group. If an import was done before, it does nothing and returns false.
func (g *Group) Import(ctx context.Context, from Source) (imported bool, err error) {
	return (&stateImport{g, from}).run(ctx)
}

// stateImport is one import of state into a group.
type stateImport struct {
	*Group
	from Source
}

func (i *stateImport) run(ctx context.Context) (imported bool, err error) {
	for {
		known := i.fsm.Cluster.Load()
		if known.ClusterID != "" && i.Barrier(ctx) == nil {
			switch known = i.fsm.Cluster.Load(); {
			case known.Imported:
				return false, nil
			case known.Version() < i.formats.Newest:
				i.log.Once("import format", "the state may use a newer format version than the cluster: it is imported once all members know that version")
			case i.role.current.Load() != nil:
				err := i.raft.Await(ctx, i.begin)
				if !errors.Is(err, ErrNoLeader) {
					return true, err
				}
			default:
				if err := i.Transfer(ctx, raftnode.NodeName(i.raft.ID)); err != nil {
					i.log.Once("import leader", "this node has to lead to import state", "error", err)
				}
			}
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		clock.Sleep(ctx, i.opt.MeetEvery/5)
	}
}

// begin makes every node restore a snapshot with the state. Meanwhile calls wait, and nobody reads a state that is
// there in part.
func (i *stateImport) begin() error {
	state, size, err := i.from.Open()
	if err != nil {
		return err
	}
	defer state.Close()
	resume, err := i.suspend()
	if err != nil {
		return err
	}
	defer resume()
	head, err := i.fsm.ImportedHead(max(i.Now(), i.from.At))
	if err != nil || i.fsm.Cluster.Load().Imported { // another node was faster, as the next round sees
		return cmp.Or(err, ErrNoLeader)
	}
	meta := &raft.SnapshotMeta{
		Version: raft.SnapshotVersionMax, Index: i.raft.AppliedIndex(), Term: i.raft.CurrentTerm(),
		Size: int64(len(head)) + size,
	}
	switch err := i.raft.Restore(meta, io.MultiReader(bytes.NewReader(head), state), importTimeout); {
	case err == nil:
		return nil
	case slices.ContainsFunc(tryAgain, func(e error) bool { return errors.Is(err, e) }):
		return ErrNoLeader
	default:
		return fmt.Errorf("the cluster has not taken over the imported state: %w", err)
	}
}

// tryAgain has Raft's errors after which it is unknown whether the import was done.
var tryAgain = []error{
	raft.ErrNotLeader, raft.ErrLeadershipLost, raft.ErrLeadershipTransferInProgress, raft.ErrEnqueueTimeout,
}

// suspend makes calls wait until resume, as for a transfer of leadership.
func (i *stateImport) suspend() (resume func(), err error) {
	r := i.role.current.Load()
	if r == nil {
		return nil, ErrNoLeader
	}
	i.role.offers.Add(1) // the lease is not renewed while an offer is open
	r.leaseUntil.Store(0)
	r.transferring.Store(true)
	i.proposer.AddOther(fsm.KindTick, nil)
	i.transfers.awaitProposed((*propose.Proposer).IsIdle)
	i.proposer.Pause()
	i.transfers.awaitProposed((*propose.Proposer).HasNoneInFlight)
	return func() {
		i.proposer.Resume()
		r.transferring.Store(false)
		i.role.offers.Add(-1)
		i.leader.changed.Broadcast()
	}, nil
}

// importTimeout bounds how long Raft may be busy with other things before it turns to a restore.
const importTimeout = 30 * time.Second
