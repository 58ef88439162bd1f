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

// imported is the state of a single server, with which a cluster begins.
type imported struct {
	dir   string
	store *engine.Store
	found persistence.Recovered
}

// readImport reads the state that --cluster-import names, or returns nil if it is not set.
func readImport(cfg *config.Config, log *slog.Logger) (*imported, error) {
	dir := cfg.ClusterImport
	if dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, usagef("cluster-import: %w", err)
	}
	unlock, err := persistence.Lock(dir) // the server of that state must have ended
	if err != nil {
		return nil, fmt.Errorf("cluster-import: %w", err)
	}
	defer unlock()
	i := &imported{dir: dir, store: engine.New(engine.Config{})}
	i.found, err = persistence.Recover(persistence.Dir(dir), i.store, time.Now().UnixNano(), false, log)
	switch {
	case err != nil:
		err = explainDamage(dir, err)
	case isNode(dir):
		err = usagef("cluster-import: %s is the directory of a node, and a cluster can only begin with the state of a single server. To restore nodes, copy their directories back, see docs/cluster.md", dir)
	case i.found.Snapshot == "" && i.found.Journals == 0:
		err = usagef("cluster-import: %s holds no state of a server", dir)
	}
	if err != nil {
		i.store.Close()
		return nil, err
	}
	return i, nil
}

// into gives the cluster its first state, once it is formed.
func (i *imported) into(ctx context.Context, node *cluster.Node, scratch string, log *slog.Logger) {
	defer i.store.Close()
	switch done, err := node.Import(ctx, i.store, i.found.Time, scratch); {
	case errors.Is(err, context.Canceled):
	case err != nil:
		log.Error("the state was not imported; restart this node to retry", "from", i.dir, "error", err)
	case !done:
		log.Info("the cluster already has state, nothing was imported: remove --cluster-import", "from", i.dir)
	default:
		log.Info("the cluster begins with the imported state: remove --cluster-import", "from", i.dir, "keys", i.store.Len())
	}
}
