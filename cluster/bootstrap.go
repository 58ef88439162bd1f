package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/cluster/raftnode"
)

// One node bootstraps the cluster, from the nodes that gave it their pledge. A node gives its pledge to one other
// node at a time and stores it on disk. --bootstrap-expect pledges are needed, which is more than half of
// --cluster-peers. So two nodes can never both have enough, whichever links are cut and whichever processes end
// during the bootstrap.
//
// A pledge is released only when its holder reports that it pledged itself to another node, or when the holder has
// come back with an empty disk. A holder that does not answer may have bootstrapped the cluster.

// pledgeKey is the name of the pledge on disk.
var pledgeKey = []byte("stint/pledge")

// pledges is this node's part in the bootstrap of a cluster.
type pledges struct {
	opt      *Options
	id       raft.ServerID
	group    *group.Group // group 0
	stable   raft.StableStore
	statuses *peers.Statuses
	log      *oncelog.Log

	mu sync.Mutex // held while this node gives its pledge, or gathers the pledges of others
}

// own returns this node's pledge as it is on disk.
func (ps *pledges) own() (p peers.Pledge, err error) {
	text, err := ps.stable.Get(pledgeKey)
	if err != nil || len(text) == 0 {
		return peers.Pledge{}, nil // Get returns an error for a missing value
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("the pledge on disk does not read: %w", err)
	}
	return p, nil
}

// givenTo returns the node that holds this node's pledge; "" for none.
func (ps *pledges) givenTo() raft.ServerID {
	p, err := ps.own()
	if err != nil {
		return ""
	}
	return p.Former
}

func (ps *pledges) save(p peers.Pledge) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return ps.stable.Set(pledgeKey, text)
}

// give answers another node that wants to form the cluster.
func (ps *pledges) give(ctx context.Context, to peers.Pledge) error {
	if !ps.mu.TryLock() {
		return errors.New("this node has just promised itself to another node")
	}
	defer ps.mu.Unlock()
	if ps.group.HasLog() || ps.group.ClusterID() != "" {
		return errors.New("this node has been in a cluster")
	}
	current, err := ps.own()
	switch {
	case err != nil:
		return err
	case current == to:
		return nil
	case current.IsTo(to): // only the state that it has met differs
	case current.Former == ps.id && to.Address > ps.opt.Advertise:
		return errors.New("this node is forming the cluster itself")
	case current.Former != ps.id:
		if err := ps.checkReleased(ctx, current); err != nil {
			return err
		}
	}
	return ps.save(to)
}

// checkReleased returns an error unless a pledge to another node has been released.
func (ps *pledges) checkReleased(ctx context.Context, p peers.Pledge) error {
	if p.Former == "" {
		return nil
	}
	r, err := ps.statuses.Fetch(ctx, p.Address)
	switch {
	case err != nil:
		ps.log.Once("pledge",
			"this node has agreed to form the cluster with another node, which does not answer; start that node, or if it is gone for good, start this one with an empty --dir",
			"id", p.Former, "address", p.Address, "error", err)
		return fmt.Errorf("this node has agreed to form the cluster with %s, which does not answer", p.Former)
	case r.ID != p.Former && raftnode.NodeName(r.ID) == raftnode.NodeName(p.Former):
		return nil // it has come back with an empty disk
	case r.ID != p.Former || r.Started || r.Pledged == "" || r.Pledged == r.ID:
		return fmt.Errorf("this node has agreed to form the cluster with %s", p.Former)
	}
	return nil
}

// bootstrap collects the pledges of nodes that never were in a cluster, and forms the cluster with these nodes if
// they are enough.
func (ps *pledges) bootstrap(ctx context.Context, others []raft.Server) error {
	if !ps.mu.TryLock() {
		return nil // it is giving its own to another
	}
	defer ps.mu.Unlock()
	own := peers.Pledge{Former: ps.id, Address: ps.opt.Advertise, ImportName: ps.metImport(others)}
	current, err := ps.own()
	if err == nil && !current.IsTo(own) {
		err = ps.checkReleased(ctx, current)
	}
	if err == nil && current != own {
		err = ps.save(own)
	}
	if err != nil {
		return err
	}
	first := raft.Configuration{Servers: append(ps.gather(ctx, own, others),
		raft.Server{ID: ps.id, Address: raft.ServerAddress(ps.opt.Advertise)})}
	if len(first.Servers) < ps.opt.BootstrapExpect {
		return fmt.Errorf("%d of the %d connected nodes agree to form it with this one, and --bootstrap-expect needs %d",
			len(first.Servers), len(others)+1, ps.opt.BootstrapExpect)
	}
	slices.SortFunc(first.Servers, func(a, b raft.Server) int { return strings.Compare(string(a.ID), string(b.ID)) })
	ps.log.Info("forming a cluster", "nodes", len(first.Servers))
	return ps.group.Bootstrap(first)
}

// metImport returns the name of the state that this node or another one brings to the cluster; "" for none.
func (ps *pledges) metImport(others []raft.Server) string {
	names := []string{ps.opt.ImportName}
	for _, s := range others {
		r, _ := ps.statuses.Last(s.ID)
		names = append(names, r.ImportName)
	}
	return slices.Max(names)
}

// importName returns the name of the state that this node has pledged to begin with; "" for none.
func (ps *pledges) importName() string {
	p, err := ps.own()
	if err != nil {
		return ps.opt.ImportName
	}
	return p.ImportName
}

// gather asks other nodes for their pledges, and returns those that have given theirs.
func (ps *pledges) gather(ctx context.Context, to peers.Pledge, others []raft.Server) (given []raft.Server) {
	ctx, cancel := context.WithTimeout(ctx, ps.opt.MeetEvery)
	defer cancel()
	var (
		mu    sync.Mutex
		asked sync.WaitGroup
	)
	for _, s := range others {
		asked.Go(func() {
			if err := ps.statuses.AskPledge(ctx, s, to); err != nil {
				ps.log.Debug("no pledge", "id", s.ID, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			given = append(given, s)
		})
	}
	asked.Wait()
	return given
}
