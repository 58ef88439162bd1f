package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/remote"
	"github.com/stintdb/stint/engine"
)

// Where replicas are on some nodes, they follow the table in group 0's log. One that begins is empty, and has itself made a member by the group's leader;
// until it has the state, the leader is asked. One that the table no longer names stays until it has left the group for good.

// placedHere are the replicas that a table gives this node, by the numbers of their groups.
func (k *keyGroups) placedHere(t *placement.Table) map[int]raft.ServerID {
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

// isPlaced reports whether a table names a replica, as far as this node knows. Only then it is made a member: one that leaves must not come back.
func (k *keyGroups) isPlaced(number int, id raft.ServerID) bool {
	t := k.first.Cluster().Placement
	return t == nil || slices.Contains(t.Of(number), id)
}

// follow has the replicas here be those of the table. One that is older than the last one followed, because the log is read again, counts for nothing.
func (k *keyGroups) follow(ctx context.Context, t *placement.Table) error {
	if t == nil || k.started.Load() == nil || t.Version < k.followed() {
		return nil
	}
	placed := k.placedHere(t)
	for number := 1; number <= len(k.all()); number++ {
		g := k.entry(uint32(number))
		var err error
		switch want := placed[number]; {
		case g.Group == nil && want != "":
			err = k.beginReplica(number, want, t.Version)
		case g.Group == nil || k.isLeaving(number):
		case g.id != want && k.hasLeft(ctx, number, g.id):
			k.leave(number, t.Version)
		case g.id == want && g.remote != nil && g.IsMember() && !g.OwnStatus().Unhealthy:
			k.replaceLocked(number, keyGroup{Group: g.Group, id: g.id, conns: g.conns})
			k.endLater(g)
		}
		if err != nil {
			return fmt.Errorf("group %d: %w", number, err)
		}
	}
	return nil
}

// followed is the version of the last table that changed the replicas here.
func (k *keyGroups) followed() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.saved.Version
}

// beginReplica begins an empty replica.
func (k *keyGroups) beginReplica(number int, id raft.ServerID, version uint64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return nil
	}
	if err := k.opt.ClearGroup(number); err != nil {
		return err
	}
	disk, err := k.opt.OpenGroup(number, true)
	if err != nil {
		return err
	}
	k.disks[number] = disk
	if _, err := disk.Incarnation(k.opt.Node); err != nil {
		return err
	}
	if err := k.saveHere(number, id, version); err != nil {
		return err
	}
	g := k.connect(number, id)
	g.remote = k.entry(uint32(number)).remote
	if err := g.Start(k.links.Group(uint32(number), id)); err != nil {
		return err
	}
	k.replace(number, g)
	k.log.Info("a replica begins", "group", number, "id", id)
	return nil
}

// replaceLocked is replace for a caller that does not hold mu.
func (k *keyGroups) replaceLocked(number int, by keyGroup) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.replace(number, by)
}

// replace has a group be another one on this node. The caller holds mu.
func (k *keyGroups) replace(number int, by keyGroup) {
	all := slices.Clone(k.all())
	all[number-1] = by
	k.started.Store(&all)
	k.decideBy(all)
}

// endLater ends the asking of a leader once its calls have been answered.
func (k *keyGroups) endLater(g keyGroup) {
	k.leaves.Go(func() {
		k.pause(2 * k.opt.DecideTimeout)
		g.remote.Close()
	})
}

// pause waits, unless the node ends.
func (k *keyGroups) pause(d time.Duration) (ended bool) {
	select {
	case <-k.ending:
		return true
	case <-time.After(d):
		return false
	}
}

// hasLeft reports whether a group's leader says that a replica has left.
func (k *keyGroups) hasLeft(ctx context.Context, number int, id raft.ServerID) bool {
	leader := k.statuses.claimed("", uint32(number))
	if leader.Address == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, k.opt.MeetEvery)
	defer cancel()
	a, err := k.statuses.call(ctx, leader.Address, request{Group: uint32(number), Left: id})
	return err == nil && a.HasLeft
}

func (k *keyGroups) isLeaving(number int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.leaving[number]
}

// leave ends a replica that has left its group, once its calls have been answered, and frees its directory.
func (k *keyGroups) leave(number int, version uint64) {
	k.mu.Lock()
	g := k.entry(uint32(number))
	if g.Group == nil || k.leaving[number] || k.ended {
		k.mu.Unlock()
		return
	}
	k.leaving[number] = true
	if g.remote == nil {
		g.remote = k.connectRemote(number).remote
		k.replace(number, g)
	}
	k.mu.Unlock()
	k.leaves.Go(func() {
		if k.pause(2 * k.opt.DecideTimeout) {
			return // it leaves after the next start
		}
		for !k.hasLeft(k.ctx, number, g.id) { // still, says a leader that may be another one now
			if k.pause(k.opt.MeetEvery) {
				return
			}
		}
		if err := k.end(number, g, version); err != nil {
			k.fail(fmt.Errorf("group %d, which has left this node: %w", number, err))
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.leaving, number)
	})
}

// end is leave, once nothing is under way.
func (k *keyGroups) end(number int, g keyGroup, version uint64) error {
	k.mu.Lock()
	err := k.saveHere(number, "", version)
	k.mu.Unlock()
	if err != nil {
		return err
	}
	g.Halt()
	if err := g.ShutDown(); err != nil {
		return err
	}
	if err := g.Close(); err != nil {
		return err
	}
	k.mu.Lock()
	k.replace(number, keyGroup{remote: g.remote})
	disk := k.disks[number]
	delete(k.disks, number)
	k.mu.Unlock()
	kept := k.opt.KeyStores[number-1]
	kept.Clear()
	kept.Replaced()
	k.log.Info("a replica has left this node", "group", number, "id", g.id)
	return disk.Remove()
}

// beginning is a group whose replica here is not asked yet, or no longer, unless it leads.
type beginning struct {
	replica *group.Group
	remote  *remote.Group
}

func (b beginning) asked() askedGroup {
	if leads, _ := b.replica.Leads(); leads {
		return b.replica
	}
	return b.remote
}

func (b beginning) Decide(batch *engine.Batch) (finished bool) { return b.asked().Decide(batch) }

func (b beginning) Leads() (leads bool, client string) { return b.asked().Leads() }

func (b beginning) Remove(ctx context.Context, node string, again bool) error {
	return b.asked().Remove(ctx, node, again)
}

func (b beginning) Transfer(ctx context.Context, node string) error {
	return b.asked().Transfer(ctx, node)
}

// votesOf are the members of a group, and whether each votes.
func votesOf(g *group.Group) map[raft.ServerID]bool {
	votes := map[raft.ServerID]bool{}
	for _, s := range g.Members() {
		votes[s.ID] = s.Suffrage == raft.Voter
	}
	return votes
}

// noteConnected passes to the replica here that a node has connected, by the id of the replica there.
func (g keyGroup) noteConnected(from raft.ServerID) {
	for _, s := range g.Members() {
		if placement.Node(s.ID) == from {
			g.conns.OnConnect(s.ID)
		}
	}
}
