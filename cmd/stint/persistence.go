package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/progress"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/persistence/disk"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
)

// localState is the state on disk, or in memory only: then manager is nil.
type localState struct {
	manager *persistence.Manager
	mode    persistence.Mode
	found   persistence.Recovered
	clock   *clock.Clock
	stop    func()
}

// openLocal recovers the state of the data directory into the store and starts to write changes there.
func openLocal(ctx context.Context, cfg config.Config, keys *store.Store, log *slog.Logger, line *progress.Line) (*localState, error) {
	if cfg.Dir == "" {
		return &localState{clock: newClock(0), stop: func() {}}, nil
	}
	unlock, err := disk.Lock(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if name := raftstore.HoldsNode(cfg.Dir); name != "" {
		unlock()
		return nil, cli.Errorf("--dir: %s is the directory of a cluster's node (it contains %s): start it with the --node-id and the other settings of that node, or choose another directory", cfg.Dir, name)
	}
	fs, start := disk.Dir(cfg.Dir), now()
	defer line.Clear()
	l := &localState{mode: persistence.Mode(cfg.Durability)}
	if l.found, err = persistence.Recover(line.Files(ctx, fs), keys, start.UnixNano(), cfg.Repair, log); err != nil {
		unlock()
		return nil, explainDamage(cfg.Dir, err)
	}
	rewound, err := fitTime(cfg.Dir, keys, &l.found, start, cfg.Rewind, log)
	if err != nil {
		unlock()
		return nil, err
	}
	if last := keys.LastDatabase(); last >= cfg.Databases {
		unlock()
		return nil, cli.Errorf("databases: the state in %s has keys in database %d, so --databases must be at least %d, got %d", cfg.Dir, last, last+1, cfg.Databases)
	}
	if l.found.Snapshot != "" || l.found.Journals > 0 {
		log.Info("recovered", "states", l.found.Keys, "keys", keys.Len(), "snapshot", l.found.Snapshot, "journals", l.found.Journals, "took", now().Sub(start))
	}
	l.clock = newClock(l.found.Time)
	l.manager, err = persistence.NewManager(persistence.Options{
		FS: fs, Store: keys, Clock: l.clock.Now, Log: log, Mode: l.mode, SnapshotEvery: cfg.SnapshotEvery, JournalBytes: cfg.JournalBytes,
	}, l.found)
	if err != nil {
		unlock()
		return nil, err
	}
	running, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.manager.Run(running)
	}()
	l.stop = func() {
		cancel()
		<-ended
		unlock()
	}
	if rewound {
		if err := <-l.manager.Save(); err != nil { // before anything is decided: the files have the old times
			l.stop()
			return nil, fmt.Errorf("cannot store the state with its times set back: %w", err)
		}
	}
	return l, nil
}

// explainDamage adds the possible remedies to an error about damage.
func explainDamage(dir string, err error) error {
	damage, is := errors.AsType[*disk.DamageError](err)
	switch {
	case !is || errors.Is(err, disk.ErrNewer):
		return fmt.Errorf("cannot read the state in %s: %w", dir, err)
	case damage.IsOfDir():
		return fmt.Errorf("cannot read the state in %s: %w; put the original file back, or restore a backup into an empty directory; or start with --repair to continue without it, and lose what only that file contained", dir, err)
	}
	return fmt.Errorf("cannot read the state in %s: %w; check it with 'stint inspect %s', or start with --repair to continue without the damaged part (a copy is kept)", dir, err, dir)
}

// durable is the manager in the mode always, in which replies wait until decisions are durable, otherwise nil.
func (l *localState) durable() decider.Durable {
	if l.manager == nil || l.mode != persistence.Always {
		return nil
	}
	return l.manager
}

// backup returns the function that writes a backup of the store.
func (l *localState) backup(of *store.Store) server.Backup {
	return func(_ context.Context, to io.Writer, _ bool) (keys int64, err error) {
		keys, _, err = persistence.WriteBackup(to, of, l.clock.Now)
		return keys, err
	}
}
