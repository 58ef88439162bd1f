package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/stintdb/stint/cluster"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/progress"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence/disk"

	"github.com/stintdb/stint/server/admin"
	"github.com/stintdb/stint/server/blocking"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/upstream"
)

// openDisk locks and opens the directory of a node. A cluster that has not begun is refused an import with policies
// that its groups would divide.
func openDisk(cfg *config.Config, imported *imported, log *slog.Logger) (dir *raftstore.Dir, unlock func(), err error) {
	if unlock, err = disk.Lock(cfg.Dir); err != nil {
		return nil, nil, err
	}
	if dir, err = raftstore.Open(cfg.Dir, raftstore.LogKind(cfg.ClusterLog), log); err != nil {
		unlock()
		return nil, nil, err
	}
	if last, lastErr := dir.Logs().LastIndex(); imported != nil && lastErr == nil && last == 0 {
		err = imported.checkPolicies(cfg)
	}
	if err != nil {
		err = errors.Join(err, dir.Close())
		unlock()
		return nil, nil, err
	}
	return dir, unlock, nil
}

// join starts a node. It looks for the others in the background; until the cluster is formed, requests are answered
// CLUSTERDOWN.
func join(ctx context.Context, cfg config.Config, keys *store.Store, groups []*store.Store, files descriptors, operators *admin.Admin, log *slog.Logger, line *progress.Line) (*state, error) {
	network, err := peerNetwork(&cfg, log)
	if err != nil {
		return nil, err
	}
	imported, err := readImport(ctx, &cfg, log, line)
	if err != nil {
		return nil, err
	}
	dir, unlock, err := openDisk(&cfg, imported, log)
	if err != nil {
		return nil, err
	}
	groupDirs := raftstore.NewGroupDirs(cfg.Dir, raftstore.LogKind(cfg.ClusterLog), log)
	hide := line.Follow(func() string { return fmt.Sprintf("reading the snapshot of the cluster's state: %d keys", keys.Len()) })
	node, err := cluster.Open(withTestTime(cluster.Options{
		Node: cfg.NodeID, Listen: cfg.ClusterListen, Advertise: cfg.PeerAddress(), Peers: cfg.ClusterPeers, BootstrapExpect: cmp.Or(cfg.BootstrapExpect, len(cfg.ClusterPeers)),
		Client: cfg.ClientAddress(), Store: keys, Disk: dir, Log: log, Network: network,
		Heartbeat: cfg.ClusterHeartbeat, DecideTimeout: cfg.DecideTimeout, DiskTimeout: cfg.ClusterDiskTimeout, LogBytes: cfg.ClusterLogBytes, Ahead: cfg.ClusterAhead,
		Unauthenticated: files.unauthenticated, Report: operators.Report, Watched: operators.Watched, Counts: operators.Counts, Turns: blocking.NewTurns(cfg.ClusterHeartbeat),
		Groups: cfg.Groups, Replicas: cfg.ClusterReplicas, KeyStores: groups, Shared: cfg.ClusterShared, ImportName: imported.name(), NewTurns: func() group.Turns { return blocking.NewTurns(cfg.ClusterHeartbeat) },
		ClearGroup: groupDirs.Clear,
		OpenGroup:  func(number int, isNew bool) (keygroups.Disk, error) { return groupDirs.Open(number, isNew) },
	}))
	hide()
	if err != nil {
		err = errors.Join(err, dir.Close())
		unlock()
		return nil, err
	}
	group := node.Group()
	running, cancel := context.WithCancel(context.Background())
	var background sync.WaitGroup
	if imported != nil {
		background.Go(func() { imported.into(running, node, cfg.Dir, log) })
	}
	s := &state{
		decider: group, keys: clusterKeys{keys, group}, clock: newClock(0), cluster: &membership{node, cfg.Redirect == "moved", cfg.DecideTimeout, running},
		banner:             fmt.Sprintf("node %s of a cluster, at %s for other nodes; its log is in %s", cfg.NodeID, cfg.PeerAddress(), cfg.Dir),
		replicas:           func() []upstream.Replica { return []upstream.Replica{replicaOf(group, keys)} },
		clusterID:          func() string { return group.Cluster().ClusterID },
		backup:             node.Backup,
		transferLeadership: node.HandOver,
		failed:             node.Failed(),
		changed:            func(cfg *config.Config) { node.SetAhead(cfg.ClusterAhead) },
		stop: func() {
			cancel()
			background.Wait()
			if err := node.Close(); err != nil {
				log.Error("the node ended with an error", "error", err)
			}
			unlock()
		},
	}
	if cfg.Groups > 1 {
		all := groupKeys{keys, keys, node, groups}
		s.decider, s.keys, s.replicas = node, all, func() []upstream.Replica { return replicasOf(all) }
	}
	return s, nil
}

// peerNetwork is the network between nodes: with TLS, both sides present a certificate of the same authority, or of the
// same secret.
func peerNetwork(cfg *config.Config, log *slog.Logger) (transport.TCP, error) {
	if secret := cfg.JoinSecret(); secret != nil {
		secrets, err := transport.SecretTLS(secret[:])
		return transport.TCP{TLS: secrets}, err
	}
	if cfg.ClusterTLSCert == "" {
		return transport.TCP{}, nil
	}
	network, err := transport.LoadTLS(cfg.ClusterTLSCert, cfg.ClusterTLSKey, cfg.ClusterTLSCA, log)
	if err != nil {
		return transport.TCP{}, cli.Usage(err)
	}
	return network, nil
}

// clusterKeys is a node's store for the server's maintenance. Keys expire by the cluster's time, not by this node's
// clock.
type clusterKeys struct {
	localstore.Store // the store
	group            *group.Group
}

// Sweep implements [localstore.Store].
func (k clusterKeys) Sweep(now int64, count int) (looked, dropped int) {
	return k.group.Sweep(now, count)
}

// Scan implements [localstore.Store].
func (k clusterKeys) Scan(cursor uint64, count int, _ int64, visit func(keyspace.Entry)) (next uint64) {
	return k.Store.Scan(cursor, count, k.group.Now(), visit)
}
