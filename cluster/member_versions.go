package cluster

import (
	"context"

	"github.com/hashicorp/raft"
)

// updateFormats runs on the leader. It records the versions that members report, and raises the cluster's version once all
// members know a newer one.
func (n *Node) updateFormats(ctx context.Context) {
	for _, s := range n.raft.servers() {
		if err := n.recordFormats(ctx, s.ID); err != nil {
			n.log.once("formats "+string(s.ID), "cannot record the format version of a member yet", "id", s.ID, "error", err)
		}
	}
	if n.formats.common() > n.fsm.cluster.Load().formats() {
		if err := n.raiseFormats(ctx); err != nil {
			n.log.once("raise", "cannot raise the cluster's format version yet", "error", err)
		}
	}
}

// recordFormats writes the version that a member reports into the log, if it has changed.
func (n *Node) recordFormats(ctx context.Context, id raft.ServerID) error {
	reported := n.formats.stated()
	if id != n.id {
		r, heard := n.statuses.last(id)
		if !heard || !n.statuses.isAlive(r) {
			return nil
		}
		reported = r.Formats
	}
	m, known := n.fsm.cluster.Load().Members[id]
	if !known || m.Formats == reported {
		return nil
	}
	if err := n.formats.check(id, reported); err != nil {
		return err
	}
	return n.change(ctx, func(ctx context.Context) error {
		m, known := n.fsm.cluster.Load().Members[id]
		if !known {
			return nil // it was removed meanwhile
		}
		m.Formats = reported
		return n.writeMember(ctx, id, &m)
	})
}

// raiseFormats raises the cluster's version. No member joins meanwhile, and an older one cannot join afterwards.
func (n *Node) raiseFormats(ctx context.Context) error {
	return n.change(ctx, func(ctx context.Context) error {
		to := n.formats.common()
		if to <= n.fsm.cluster.Load().formats() {
			return nil
		}
		if err := n.formats.propose(ctx, kindVersion, versionBody{to}); err != nil {
			return err
		}
		n.log.Info("all members know a newer format version: the cluster uses it from now on", "version", to)
		return nil
	})
}
