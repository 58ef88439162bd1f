package keygroups

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/placement"
)

// Where replicas are on some nodes, they follow the table in group 0's log. A new replica is empty, and asks the
// group's leader to make it a member; until it has the state, the leader decides. A replica that the table no longer
// names stays until it has left the group for good.

// placedHere returns the replicas that a table gives this node, by the numbers of their groups.
func (k *Groups) placedHere(t *placement.Table) map[int]raft.ServerID {
	if t == nil {
		return nil
	}
	here := map[int]raft.ServerID{}
	for i, on := range t.Groups {
		for _, id := range on {
			if placement.Node(id) == k.id {
				here[i+1] = id
			}
		}
	}
	return here
}

// follow begins and ends replicas until this node has those in the table. A table older than the last one followed is
// ignored: it appears when the log is read again.
func (k *Groups) follow(ctx context.Context, t *placement.Table) error {
	if t == nil || k.started.Load() == nil || t.Version < k.followed() {
		return nil
	}
	placed := k.placedHere(t)
	for number := 1; number <= len(k.All()); number++ {
		g := k.Group(number)
		var err error
		switch want := placed[number]; {
		case g.replica == nil && want != "":
			err = k.beginReplica(number, want, t.Version)
		case g.replica == nil || k.IsLeaving(number):
		case g.id != want && k.statuses.HasLeft(ctx, uint32(number), g.id):
			k.leave(number, t.Version)
		case g.id == want && g.remote != nil && g.replica.IsMember() && !g.replica.OwnStatus().Unhealthy:
			k.answerHere(number, g)
		}
		if err != nil {
			return fmt.Errorf("group %d: %w", number, err)
		}
	}
	return nil
}

// followed returns the version of the last table that changed the replicas here.
func (k *Groups) followed() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.notes.last.Version
}

// beginReplica begins an empty replica.
func (k *Groups) beginReplica(number int, id raft.ServerID, version uint64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return nil
	}
	if err := k.opt.Clear(number); err != nil {
		return err
	}
	disk, err := k.opt.Open(number, true)
	if err != nil {
		return err
	}
	k.disks[number] = disk
	if _, err := disk.Incarnation(k.opt.Node); err != nil {
		return err
	}
	if err := k.notes.writeHere(number, id, version); err != nil {
		return err
	}
	g := k.connector.replica(number, id, disk)
	g.remote = k.Group(number).remote
	if err := g.replica.Start(k.connector.messenger(number, id)); err != nil {
		return err
	}
	k.replace(number, g)
	k.log.Info("a replica starts on this node", "group", number, "id", id)
	return nil
}

// replace replaces a group on this node. The caller holds mu.
func (k *Groups) replace(number int, by Group) {
	all := slices.Clone(k.All())
	all[number-1] = by
	k.started.Store(&all)
	k.decideBy(all)
}

// answerHere lets a replica answer that has the state now. The leader is not asked any more once its calls have been
// answered.
func (k *Groups) answerHere(number int, g Group) {
	k.mu.Lock()
	k.replace(number, Group{replica: g.replica, id: g.id, conns: g.conns})
	k.mu.Unlock()
	k.leaves.Go(func() {
		k.pause(2 * k.opt.Common.DecideTimeout)
		g.remote.Close()
	})
}

// pause waits, unless the node ends.
func (k *Groups) pause(d time.Duration) (ended bool) {
	select {
	case <-k.ending:
		return true
	case <-time.After(d):
		return false
	}
}

// IsLeaving reports whether a replica here has left its group, and has not ended yet.
func (k *Groups) IsLeaving(number int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.leaving[number]
}

// leave ends a replica that has left its group, once its calls have been answered, and frees its directory.
func (k *Groups) leave(number int, version uint64) {
	k.mu.Lock()
	g := k.Group(number)
	if g.replica == nil || k.leaving[number] || k.ended {
		k.mu.Unlock()
		return
	}
	k.leaving[number] = true
	if g.remote == nil {
		g.remote = k.connector.remote(number).remote
		k.replace(number, g)
	}
	k.mu.Unlock()
	k.leaves.Go(func() {
		if k.pause(2 * k.opt.Common.DecideTimeout) {
			return // it leaves after the next start
		}
		for !k.statuses.HasLeft(k.ctx, uint32(number), g.id) { // asked again, because the leader may be another node now
			if k.pause(k.opt.Common.MeetEvery) {
				return
			}
		}
		if err := k.end(number, g, version); err != nil {
			k.opt.Common.Fail(fmt.Errorf("group %d, which has left this node: %w", number, err))
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.leaving, number)
	})
}

// end is the last part of leave, when nothing is under way any more.
func (k *Groups) end(number int, g Group, version uint64) error {
	k.mu.Lock()
	err := k.notes.writeHere(number, "", version)
	k.mu.Unlock()
	if err != nil {
		return err
	}
	g.replica.Halt()
	if err := g.replica.ShutDown(); err != nil {
		return err
	}
	if err := g.replica.Close(); err != nil {
		return err
	}
	k.mu.Lock()
	k.replace(number, Group{remote: g.remote})
	disk := k.disks[number]
	delete(k.disks, number)
	k.mu.Unlock()
	kept := k.opt.Stores[number-1]
	kept.Clear()
	kept.Replaced()
	k.log.Info("a replica was removed from this node", "group", number, "id", g.id)
	return disk.Remove()
}
