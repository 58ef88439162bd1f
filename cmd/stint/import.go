package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/stintdb/stint/cluster"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/progress"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/persistence/disk"
	"github.com/stintdb/stint/server/config"
)

// imported is the state of a server's directory, or of a backup, with which a cluster begins.
type imported struct {
	path    string
	store   *store.Store
	found   persistence.Recovered
	written string // when, before --rewind
}

// name is the name of the state in the cluster's log, "" if there is none.
func (i *imported) name() string {
	if i == nil {
		return ""
	}
	return i.written
}

// readImport reads the state that --cluster-import names, or returns nil if it is not set.
func readImport(ctx context.Context, cfg *config.Config, log *slog.Logger, line *progress.Line) (*imported, error) {
	if cfg.ClusterImport == "" {
		return nil, nil
	}
	info, err := os.Stat(cfg.ClusterImport)
	if err != nil {
		return nil, cli.Errorf("--cluster-import: %w", err)
	}
	i := &imported{path: cfg.ClusterImport, store: store.New(store.Config{})}
	if info.IsDir() {
		err = i.readDir(ctx, log, line)
	} else {
		err = i.readBackup(ctx, line)
	}
	line.Clear()
	i.written = time.Unix(0, i.found.Time).UTC().Format(time.RFC3339Nano)
	if err == nil && i.store.LastDatabase() > 0 {
		err = cli.Errorf("--cluster-import: %s has keys in databases other than 0, which a cluster does not have: on a standalone server, delete them with FLUSHDB, or move them to database 0 with MOVE", i.path)
	}
	if err == nil {
		_, err = fitTime(i.path, i.store, &i.found, now(), cfg.Rewind, log)
	}
	if err != nil {
		i.store.Close()
		return nil, err
	}
	i.warnOfReservations(cfg.Groups, log)
	return i, nil
}

// warnOfReservations names the reservations that groups of keys leave out.
func (i *imported) warnOfReservations(groups int, log *slog.Logger) {
	if groups < 2 {
		return
	}
	left, first := 0, ""
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		cursor = i.store.Scan(cursor, scanAtOnce, i.found.Time, func(e keyspace.Entry) {
			if cluster.CrossesGroups(&e, groups) {
				if left++; first == "" {
					first = string(database.KeyOf(e.Key))
				}
			}
		})
	}
	if left > 0 {
		log.Warn("reservations whose id is in another group than their limits are not imported: their tokens count as used, and RL.SETTLE will not find them", "count", left, "example", first)
	}
}

// scanAtOnce is the number of entries that are looked at under one lock.
const scanAtOnce = 1024

// readDir reads the state in a server's directory.
func (i *imported) readDir(ctx context.Context, log *slog.Logger, line *progress.Line) error {
	unlock, err := disk.Lock(i.path) // the server of that state must have ended
	if err != nil {
		return fmt.Errorf("--cluster-import: %w", err)
	}
	defer unlock()
	i.found, err = persistence.Recover(line.Files(ctx, disk.Dir(i.path)), i.store, now().UnixNano(), false, log)
	switch {
	case err != nil:
		return explainDamage(i.path, err)
	case isNode(i.path):
		return cli.Errorf("--cluster-import: %s is the directory of a node, but a cluster can only start from the state of a standalone server, or from a backup. To restore nodes, copy their directories back: see docs/cluster.md", i.path)
	case i.found.Snapshot == "" && i.found.Journals == 0:
		return cli.Errorf("--cluster-import: %s does not contain the state of a server", i.path)
	}
	return nil
}

// readBackup reads a file of stint backup.
func (i *imported) readBackup(ctx context.Context, line *progress.Line) error {
	in, err := line.Files(ctx, disk.Dir(filepath.Dir(i.path))).Open(filepath.Base(i.path))
	if err != nil {
		return cli.Errorf("--cluster-import: %w", err)
	}
	defer in.Close()
	if i.found, err = persistence.ReadBackup(i.path, in, i.store, now().UnixNano()); err != nil {
		return fmt.Errorf("--cluster-import: cannot read the backup: %w; name another one", err)
	}
	return nil
}

// into gives the cluster its first state, once it is formed.
func (i *imported) into(ctx context.Context, to *cluster.Node, scratch string, log *slog.Logger) {
	from := cluster.Source{Store: i.store, At: i.found.Time, Scratch: scratch}
	keys := i.store.Len()
	i.store = nil // the import closes it, and its memory is used for the keys of the groups
	switch done, err := to.Import(ctx, from); {
	case errors.Is(err, context.Canceled):
	case errors.Is(err, cluster.ErrNotDue):
		log.Error("nothing was imported, because the cluster was formed without this state: remove --cluster-import; or to begin with the imported state, stop all nodes, empty every --dir, and start all nodes again",
			"from", i.path, "error", err)
	case err != nil:
		log.Error("the state was not imported; restart this node to retry", "from", i.path, "error", err)
	case !done:
		log.Info("the cluster was already started from an import: remove --cluster-import", "from", i.path)
	default:
		log.Info("the state was imported into the cluster: remove --cluster-import", "from", i.path, "keys", keys)
	}
}
