package group

import (
	"context"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
)

// updateFormats runs on the leader. It records the versions that members report, and raises the cluster's version once
// all members know a newer one.
func (ms *membership) updateFormats(ctx context.Context) {
	for _, s := range ms.raft.Servers() {
		if err := ms.recordFormats(ctx, s.ID); err != nil {
			ms.log.Once("formats "+string(s.ID), "cannot record the format version of a member yet", "id", s.ID, "error", err)
		}
	}
	if ms.formats.common() > ms.fsm.Cluster.Load().Version() {
		if err := ms.raiseFormats(ctx); err != nil {
			ms.log.Once("raise", "cannot raise the cluster's format version yet", "error", err)
		}
	}
}

// recordFormats writes the version that a member reports into the log, if it has changed.
func (ms *membership) recordFormats(ctx context.Context, id raft.ServerID) error {
	reported := ms.formats.Stated()
	if id != ms.raft.ID {
		r, heard := ms.statuses.Last(id)
		if !heard || !ms.statuses.IsAlive(r) {
			return nil
		}
		reported = r.Formats
	}
	m, known := ms.fsm.Cluster.Load().Members[id]
	if !known || m.Formats == reported {
		return nil
	}
	if err := ms.formats.check(id, reported); err != nil {
		return err
	}
	return ms.change(ctx, func(ctx context.Context) error {
		m, known := ms.fsm.Cluster.Load().Members[id]
		if !known {
			return nil // it was removed by then
		}
		m.Formats = reported
		return ms.write(ctx, id, &m)
	})
}

// raiseFormats raises the cluster's version. No member joins before that, and an older one cannot join afterwards.
func (ms *membership) raiseFormats(ctx context.Context) error {
	return ms.change(ctx, func(ctx context.Context) error {
		to := ms.formats.common()
		if to <= ms.fsm.Cluster.Load().Version() {
			return nil
		}
		if err := ms.formats.propose(ctx, fsm.KindVersion, fsm.VersionBody{Formats: to}); err != nil {
			return err
		}
		ms.log.Info("all members support a newer format version, so the cluster uses it from now on", "version", to)
		return nil
	})
}

// recordProcesses runs on the leader. It writes the processes that members report into the log.
func (ms *membership) recordProcesses(ctx context.Context) {
	if ms.fsm.Cluster.Load().Version() < ms.formats.OfKind(fsm.KindProcess) {
		return
	}
	for _, s := range ms.raft.Servers() {
		told := ms.ownProcess()
		if s.ID != ms.raft.ID {
			r, heard := ms.statuses.Last(s.ID)
			if !heard || !ms.statuses.IsAlive(r) {
				continue
			}
			told = fsm.ProcessBody{ID: s.ID, Process: r.Process, After: r.ProcessBefore}
		}
		known := ms.fsm.Cluster.Load()
		_, isMember := known.Members[s.ID]
		is := known.Processes[s.ID]
		if !isMember || told.Process == "" || told.Process == is || told.After != is {
			continue
		}
		if err := ms.formats.propose(ctx, fsm.KindProcess, told); err != nil {
			ms.log.Once("process "+string(s.ID), "cannot record a member's process yet", "id", s.ID, "error", err)
		}
	}
}
