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

// Import begins the cluster's state with that of a store as it was at a time, nanoseconds since the Unix epoch: what a
// server that stood alone has kept. It waits until the cluster has been formed and has this node lead. Where the cluster
// holds something already, or has been begun so before, it does nothing and reports false, so that it may be asked for at
// every start. Scratch is a directory with room for a snapshot.
func (n *Node) Import(ctx context.Context, from *engine.Store, at int64, scratch string) (imported bool, err error) {
	for {
		known := n.fsm.known.Load()
		if known.ClusterID != "" && n.Barrier(ctx) == nil {
			switch known = n.fsm.known.Load(); {
			case known.Imported || n.holdsState():
				return false, nil
			case n.reign.Load() != nil:
				return true, n.await(ctx, func() error { return n.begin(from, at, scratch) })
			}
			if err := n.Transfer(ctx, n.opt.Node); err != nil {
				n.logOnce("import", "this node has to lead to import state", "error", err)
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

// begin has every node take over a store, as the snapshot it were if the cluster had decided all that is in it.
func (n *Node) begin(from *engine.Store, at int64, scratch string) error {
	file, err := os.CreateTemp(scratch, "import-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	state := frozen{head: snapshotHead{*n.fsm.known.Load(), max(n.Now(), at)}, store: from.Freeze()}
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
