package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/homepolicies"
	"github.com/stintdb/stint/cmd/stint/progress"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/admin"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/info"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/upstream"
)

// state is the decider and its storage: of this process alone, or of the cluster that it is a node of.
type state struct {
	decider            decider.Decider
	keys               localstore.Store
	clock              *clock.Clock
	persistence        server.Persistence              // nil if the state is only in memory, or in a cluster
	cluster            server.Membership               // nil without a cluster
	banner             string                          // for the first lines of output
	transferLeadership func(ctx context.Context) error // before this node ends; nil without a cluster
	replicas           func() []upstream.Replica       // of the keys that this process has
	clusterID          func() string                   // "" before the cluster is formed; nil without a cluster
	backup             server.Backup
	upstream           info.Upstream          // nil without a home cluster
	homePolicies       *homepolicies.Follower // nil if no policies are those of home
	changed            func(*config.Config)   // takes settings that were changed; nil if none matter
	failed             <-chan error           // the reason why the process must end; nil without a cluster
	stop               func()
}

// openState makes the state according to the settings.
func openState(ctx context.Context, cfg config.Config, keys *store.Store, groups []*store.Store, files descriptors, operators *admin.Admin, log *slog.Logger, line *progress.Line) (*state, error) {
	if cfg.IsCluster() {
		return join(ctx, cfg, keys, groups, files, operators, log, line)
	}
	if err := refuseNode(cfg.Dir); err != nil {
		return nil, err
	}
	local, err := openLocal(ctx, cfg, keys, log, line)
	if err != nil {
		return nil, err
	}
	s := &state{
		decider: &decider.Local{Store: keys, Clock: local.clock, Durable: local.durable()}, keys: keys, clock: local.clock,
		replicas: func() []upstream.Replica {
			return []upstream.Replica{{Store: keys, Now: local.clock.Now, Leads: func() bool { return true }}}
		},
		backup: local.backup(keys),
		banner: "limits are kept in memory only; a restart forgets them. To keep them on disk, start with --dir PATH",
		stop:   local.stop,
	}
	if local.manager != nil {
		s.persistence = local.manager
		s.banner = fmt.Sprintf("limits are kept in %s (--durability %s); read %d states", cfg.Dir, cfg.Durability, local.found.Keys)
	}
	return s, nil
}

// refuseNode refuses to start a single server in the directory of a cluster's node: it would begin there without state.
func refuseNode(dir string) error {
	if dir == "" || !isNode(dir) {
		return nil
	}
	return cli.Errorf("%s is the directory of a cluster's node: start a node, with --node-id and --cluster-listen, or choose another --dir; to get the cluster's state here, use stint backup on a running node and stint restore", dir)
}

// failing is a context that ends with ctx, or with the reason when the state has failed.
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

// isNode reports whether a directory belongs to a cluster's node.
func isNode(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, raftstore.IdentityFile))
	return err == nil
}
