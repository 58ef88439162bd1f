package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
)

// Import initializes the cluster's state with a copy of a standalone server's store, taken at a time in nanoseconds
// since the Unix epoch. It waits until the cluster has been bootstrapped and this node leads it. If the cluster
// already holds state, or an import was done before, it does nothing and returns false, so it may be called at every
// start. Scratch is a directory with room for a snapshot.
func (n *Node) Import(ctx context.Context, from *engine.Store, at int64, scratch string) (imported bool, err error) {
	for {
		known := n.fsm.cluster.Load()
		if known.ClusterID != "" && n.Barrier(ctx) == nil {
			switch known = n.fsm.cluster.Load(); {
			case known.Imported || n.holdsState():
				return false, nil
			case known.formats() < n.formats.newest:
				n.log.once("import", "the state may use a newer format version than the cluster: it is imported once all members know that version")
			case n.role.current.Load() != nil:
				return true, n.raft.await(ctx, func() error { return n.begin(from, at, scratch) })
			default:
				if err := n.Transfer(ctx, n.opt.Node); err != nil {
					n.log.once("import", "this node has to lead to import state", "error", err)
				}
			}
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		sleep(ctx, n.opt.MeetEvery/5)
	}
}

func (n *Node) holdsState() bool {
	return n.opt.Store.Len() > 0 || len(n.opt.Store.PolicyNames()) > 0
}

// begin makes every node restore a snapshot of the store.
func (n *Node) begin(from *engine.Store, at int64, scratch string) error {
	file, err := os.CreateTemp(scratch, "import-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	state := fsmSnapshot{head: snapshotHead{*n.fsm.cluster.Load(), max(n.Now(), at), n.fsm.applied.Load()}, store: from.Snapshot()}
	state.head.Imported = true
	err = state.write(file)
	state.Release()
	if err != nil {
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
		return fmt.Errorf("the cluster has not taken over the imported state: %w", err)
	}
	return nil
}

// importTimeout bounds how long Raft may be busy with other things before it turns to a restore.
const importTimeout = 30 * time.Second
