package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// state is who decides, and where that is kept: by this process alone, or by a cluster it is a node of.
type state struct {
	decider  server.Decider
	keys     server.Sweeper
	clock    *server.Clock
	keeper   server.Keeper                   // nil if this process keeps nothing on disk, or a cluster does
	cluster  server.Membership               // nil if it stands alone
	told     string                          // to a person who started the server
	handOver func(ctx context.Context) error // lets another node lead before this one ends; nil if there is none
	failed   <-chan error                    // why the process cannot go on; nil if that cannot be
	stop     func()
}

// openState makes the state that the settings ask for.
func openState(cfg config.Config, store *engine.Store, log *slog.Logger) (*state, error) {
	if cfg.IsCluster() {
		return join(cfg, store, log)
	}
	if err := refuseNode(cfg.Dir); err != nil {
		return nil, err
	}
	kept, err := keep(cfg, store, log)
	if err != nil {
		return nil, err
	}
	s := &state{
		decider: &server.Local{Store: store, Clock: kept.clock, Durable: kept.durable()}, keys: store, clock: kept.clock,
		told: "limits are kept in memory only; a restart forgets them. To keep them on disk, start with --dir PATH",
		stop: kept.stop,
	}
	if kept.keeper != nil {
		s.keeper = kept
		s.told = fmt.Sprintf("limits are kept in %s (--durability %s); read %d states from there", cfg.Dir, cfg.Durability, kept.found.Keys)
	}
	return s, nil
}

// refuseNode refuses the directory of a cluster's node to a server alone: it would begin there with nothing.
func refuseNode(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, nodeFile)); dir == "" || err != nil {
		return nil
	}
	return usagef("%s holds what a node of a cluster keeps: start it as one, with node-id and cluster-listen, or name another dir", dir)
}

// failing is a context that ends with ctx, or with the reason when the state cannot go on.
func (s *state) failing(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case err := <-s.failed:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
