package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/engine/store"
)

// Import initializes the cluster's state with a copy of a standalone server's store, taken at a time in nanoseconds
// since the Unix epoch. It waits until the cluster has been bootstrapped and this node leads it. If an import was done
// before, it does nothing and returns false, so it may be called at every start. Scratch is a directory with room for a
// snapshot.
//
// Clients may ask a cluster before the import. State that they have left is replaced, if this process was one of those that
// formed the cluster, within importWithin. Otherwise the error is ErrHoldsState.
func (n *Node) Import(ctx context.Context, from *store.Store, at int64, scratch string) (imported bool, err error) {
	formed := time.Duration(0)
	for {
		known := n.fsm.Cluster.Load()
		if known.ClusterID != "" && n.Barrier(ctx) == nil {
			if formed == 0 {
				formed = n.clock.Mono()
			}
			isNew := n.isFounder() && n.clock.Mono()-formed < importWithin
			switch known = n.fsm.Cluster.Load(); {
			case known.Imported:
				return false, nil
			case n.holdsState() && !isNew:
				return false, ErrHoldsState
			case known.Version() < n.formats.Newest:
				n.log.Once("import", "the state may use a newer format version than the cluster: it is imported once all members know that version")
			case n.role.current.Load() != nil:
				err := n.raft.await(ctx, func() error { return n.begin(from, at, scratch) })
				if !errors.Is(err, ErrNoLeader) {
					return true, err
				}
			default:
				if err := n.Transfer(ctx, n.opt.Node); err != nil {
					n.log.Once("import", "this node has to lead to import state", "error", err)
				}
			}
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		clock.Sleep(ctx, n.opt.MeetEvery/5)
	}
}

// ErrHoldsState is the error of an import into a cluster that has been in use.
var ErrHoldsState = errors.New("the cluster has state already")

// importWithin bounds the age of a cluster whose state an import replaces.
const importWithin = time.Minute

func (n *Node) holdsState() bool {
	return n.opt.Store.Len() > 0 || len(n.opt.Store.PolicyNames()) > 0
}

// isFounder reports whether this process has been in the cluster from the beginning: it was started without a log, and the
// first configuration has this incarnation of the node. A node that joined later would replace the state of a cluster in use.
func (n *Node) isFounder() bool {
	var first raft.Log
	if n.hadLog || n.disk.Logs().GetLog(1, &first) != nil || first.Type != raft.LogConfiguration {
		return false
	}
	return slices.ContainsFunc(raft.DecodeConfiguration(first.Data).Servers, func(s raft.Server) bool { return s.ID == n.id })
}

// begin makes every node restore a snapshot of the store. Meanwhile calls wait, and nothing is read from a state in part.
func (n *Node) begin(from *store.Store, at int64, scratch string) error {
	file, err := os.CreateTemp(scratch, "import-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	resume, err := n.suspend()
	if err != nil {
		return err
	}
	defer resume()
	if err := n.fsm.WriteImported(file, from, max(n.Now(), at)); err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	meta := &raft.SnapshotMeta{Version: raft.SnapshotVersionMax, Index: n.raft.AppliedIndex(), Term: n.raft.CurrentTerm(), Size: size}
	if err := n.raft.Restore(meta, file, importTimeout); err != nil {
		if errors.Is(err, raft.ErrNotLeader) {
			return ErrNoLeader
		}
		return fmt.Errorf("the cluster has not taken over the imported state: %w", err)
	}
	return nil
}

// suspend has calls wait until resume, as for a transfer of leadership.
func (n *Node) suspend() (resume func(), err error) {
	r := n.role.current.Load()
	if r == nil {
		return nil, ErrNoLeader
	}
	n.role.offers.Add(1) // while one is open, the lease is not renewed
	r.leaseUntil.Store(0)
	r.transferring.Store(true)
	n.proposer.AddOther(fsm.KindTick, nil)
	n.transfers.awaitProposed((*propose.Proposer).IsIdle)
	n.proposer.Pause()
	n.transfers.awaitProposed((*propose.Proposer).HasNoneInFlight)
	return func() {
		n.proposer.Resume()
		r.transferring.Store(false)
		n.role.offers.Add(-1)
		n.leader.changed.Broadcast()
	}, nil
}

// importTimeout bounds how long Raft may be busy with other things before it turns to a restore.
const importTimeout = 30 * time.Second
