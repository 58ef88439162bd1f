package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// kept is the state kept on disk, or in memory only: then keeper is nil.
type kept struct {
	keeper *persistence.Keeper
	mode   persistence.Mode
	found  persistence.Recovered
	clock  *server.Clock
	stop   func()
}

// keep recovers the state of the data directory into the store and starts to keep it there.
func keep(cfg config.Config, store *engine.Store, log *slog.Logger) (*kept, error) {
	if cfg.Dir == "" {
		return &kept{clock: server.NewClock(), stop: func() {}}, nil
	}
	unlock, err := persistence.Lock(cfg.Dir)
	if err != nil {
		return nil, err
	}
	fs, start := persistence.Dir(cfg.Dir), time.Now()
	k := &kept{mode: persistence.Mode(cfg.Durability)}
	if k.found, err = persistence.Recover(fs, store, start.UnixNano(), cfg.Repair, log); err != nil {
		unlock()
		return nil, explainDamage(cfg.Dir, err)
	}
	if behind := k.found.Time - start.UnixNano(); behind > 0 {
		log.Warn("the clock is behind the state on disk; time goes on from that state, so that nothing is given back",
			"behind", time.Duration(behind))
	}
	if k.found.Snapshot != "" || k.found.Journals > 0 {
		log.Info("recovered", "states", k.found.Keys, "keys", store.Len(), "snapshot", k.found.Snapshot, "journals", k.found.Journals, "took", time.Since(start))
	}
	k.clock = server.NewClockFrom(k.found.Time)
	k.keeper, err = persistence.NewKeeper(persistence.Options{
		FS: fs, Store: store, Clock: k.clock.Now, Log: log, Mode: k.mode, SnapshotEvery: cfg.SnapshotEvery, JournalBytes: cfg.JournalBytes,
	}, k.found)
	if err != nil {
		unlock()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.keeper.Run(ctx)
	}()
	k.stop = func() {
		cancel()
		<-ended
		unlock()
	}
	return k, nil
}

// explainDamage adds to what is damaged the two ways on.
func explainDamage(dir string, err error) error {
	if _, damaged := errors.AsType[*persistence.DamageError](err); !damaged || errors.Is(err, persistence.ErrNewer) {
		return fmt.Errorf("cannot read the state in %s: %w", dir, err)
	}
	return fmt.Errorf("cannot read the state in %s: %w; look at it with 'stint inspect %s', or start with --repair to go on without what is damaged (a copy is kept)", dir, err, dir)
}

// durable is what replies wait for: nothing, but in the mode always.
func (k *kept) durable() server.Durable {
	if k.keeper == nil || k.mode != persistence.Always {
		return nil
	}
	return k.keeper
}

// Save implements [server.Keeper].
func (k *kept) Save() <-chan error { return k.keeper.Save() }

// SaveAlone implements [server.Keeper].
func (k *kept) SaveAlone() error { return k.keeper.SaveAlone() }

// SkipLastSnapshot implements [server.Keeper].
func (k *kept) SkipLastSnapshot() { k.keeper.SkipLastSnapshot() }

// Status implements [server.Keeper].
func (k *kept) Status() server.KeeperStatus {
	st := k.keeper.Status()
	status := server.KeeperStatus{
		Mode: string(st.Mode), Err: k.keeper.Err(), Saving: st.Saving, LastSaveErr: st.LastSaveErr,
		SnapshotBytes: st.SnapshotBytes, SnapshotKeys: st.SnapshotKeys, JournalBytes: st.JournalBytes, Journaled: st.Journaled,
		FlushedUntil: time.Unix(0, st.FlushedUntil),
	}
	if st.LastSave > 0 {
		status.LastSave = time.Unix(0, st.LastSave)
	}
	return status
}
