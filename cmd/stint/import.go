package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/stintdb/stint/cluster"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/server/config"
)

// imported is the state a server alone has kept, for a cluster to begin with.
type imported struct {
	dir   string
	store *engine.Store
	found persistence.Recovered
}

// readImport reads what --cluster-import names, nil if it names nothing.
func readImport(cfg *config.Config, log *slog.Logger) (*imported, error) {
	dir := cfg.ClusterImport
	if dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, usagef("cluster-import: %w", err)
	}
	unlock, err := persistence.Lock(dir) // the server whose state it is must have ended
	if err != nil {
		return nil, fmt.Errorf("cluster-import: %w", err)
	}
	defer unlock()
	i := &imported{dir: dir, store: engine.New(engine.Options{})}
	i.found, err = persistence.Recover(persistence.Dir(dir), i.store, time.Now().UnixNano(), false, log)
	switch {
	case err != nil:
		err = explainDamage(dir, err)
	case isNode(dir):
		err = usagef("cluster-import: %s is the directory of a node; a cluster begins with the state of a server alone. A copy of nodes is put back where it was, see docs/cluster.md", dir)
	case i.found.Snapshot == "" && i.found.Journals == 0:
		err = usagef("cluster-import: %s holds no state of a server", dir)
	}
	if err != nil {
		i.store.Close()
		return nil, err
	}
	return i, nil
}

// into has the cluster begin with the state, once its nodes have met.
func (i *imported) into(ctx context.Context, node *cluster.Node, scratch string, log *slog.Logger) {
	defer i.store.Close()
	switch done, err := node.Import(ctx, i.store, i.found.Time, scratch); {
	case errors.Is(err, context.Canceled):
	case err != nil:
		log.Error("the state of a server alone was not imported; start this node again to try once more", "from", i.dir, "error", err)
	case !done:
		log.Info("the cluster has state already, nothing was imported: --cluster-import can be left out", "from", i.dir)
	default:
		log.Info("the cluster begins with the state of a server alone: --cluster-import can be left out from now on", "from", i.dir, "keys", i.store.Len())
	}
}
