package keygroups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/router"
)

// Resume starts the groups of a node that was there before.
func (k *Groups) Resume() error {
	noted, isNoted, err := k.notes.read()
	if err != nil || !isNoted {
		return err
	}
	return k.begin(noted, false)
}

// ErrRaftEnded is the error of a node on which the Raft of a group has ended, and cannot go on.
var ErrRaftEnded = errors.New("its Raft has ended: start it again")

// Tend begins the groups once the log of group 0 names the founders, and makes this node a member of each.
func (k *Groups) Tend(ctx context.Context) error {
	known := k.first.Cluster()
	if known.ClusterID == "" {
		return nil
	}
	if own := max(k.opt.Common.Groups, 1); own != max(known.Groups, 1) {
		return k.errNumber(max(known.Groups, 1))
	}
	if formed := known.Placement.Count(); len(known.Founders) > 0 && formed != k.opt.Common.Replicas {
		return fmt.Errorf("--cluster-replicas is %d, and the cluster was formed with %d: start the node with --cluster-replicas %[2]d", k.opt.Common.Replicas, formed)
	}
	if len(known.Founders) > 0 && k.started.Load() == nil {
		begun := noted{Groups: known.Groups, Founders: known.Founders, ImportName: known.ImportName,
			Version: known.Placement.Number(), Here: k.placedHere(known.Placement)}
		if err := k.begin(begun, true); err != nil {
			return err
		}
	}
	k.warnOfImport(known.ImportName)
	if err := k.follow(ctx, known.Placement); err != nil {
		return err
	}
	for number, g := range k.Here() {
		switch {
		case k.IsLeaving(number) || !k.connector.isPlaced(number, k.Group(number).id):
			continue
		case g.HasEnded():
			return ErrRaftEnded
		case g.IsMember() && !g.HasToAnnounce():
			continue
		}
		announcing, cancel := context.WithTimeout(ctx, group.RPCTimeout)
		if err := g.Announce(announcing, ""); err != nil && !errors.Is(err, group.ErrNoLeader) && ctx.Err() == nil {
			k.log.Once(fmt.Sprint("join ", number, err), "could not join a group of keys yet", "group", number, "error", err)
		}
		cancel()
	}
	return nil
}

func (k *Groups) errNumber(formed int) error {
	return fmt.Errorf("--groups is %d, and the cluster was formed with %d: start the node with --groups %[2]d",
		max(k.opt.Common.Groups, 1), formed)
}

// begin starts the groups. Their directories exist before the notes say so, and the notes say so before any of the
// groups votes: so a directory that is missing later had votes in it, and the node does not begin another.
func (k *Groups) begin(saved noted, isNew bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return nil
	}
	if saved.Groups != k.opt.Common.Groups {
		return k.errNumber(saved.Groups)
	}
	k.disks, k.leaving = map[int]Disk{}, map[int]bool{}
	for number := 1; number <= saved.Groups; number++ {
		if !saved.has(number) {
			continue
		}
		disk, err := k.opt.Open(number, isNew)
		if err != nil {
			return fmt.Errorf("group %d: %w", number, err)
		}
		k.disks[number] = disk
		if _, err := disk.Incarnation(k.opt.Node); err != nil {
			return err
		}
	}
	if isNew {
		if err := k.notes.write(saved); err != nil {
			return fmt.Errorf("the groups of keys cannot start: %w", err)
		}
	}
	k.awaitedImport.Store(saved.ImportName != "")
	started := make([]Group, 0, saved.Groups)
	defer func() { k.started.Store(&started) }() // if one cannot start, the groups that have been started are ended too
	for number := 1; number <= saved.Groups; number++ {
		if !saved.has(number) {
			started = append(started, k.connector.remote(number))
			continue
		}
		g := k.connector.replica(number, cmp.Or(saved.Here[number], k.id), k.disks[number])
		if err := g.replica.Start(k.connector.messenger(number, g.id)); err != nil {
			return fmt.Errorf("group %d: %w", number, err)
		}
		started = append(started, g)
		if err := bootstrap(g, saved.founding(number, k.opt.Common.Replicas)); err != nil {
			return fmt.Errorf("group %d: %w", number, err)
		}
	}
	k.decideBy(started)
	return nil
}

// decideBy has group 0 and these groups decide from now on.
func (k *Groups) decideBy(all []Group) {
	groups := []router.Group{k.first}
	for _, g := range all {
		groups = append(groups, g.Asked())
	}
	k.opt.Decide(groups)
}

// warnOfImport says what to do while the cluster awaits the state that it begins with, and this node does not bring it.
func (k *Groups) warnOfImport(name string) {
	if k.AwaitsImport() && !k.importing.Load() {
		k.log.WarnOnce("await import",
			"requests get LOADING, because the cluster does not have the whole state of its import yet: start a node with --cluster-import and that state; or to start without it, stop all nodes, empty every --dir, and start all",
			"state_of", name)
	}
}

// bootstrap has the empty replica of a founder begin with the founders as members. All founders do it alike. The
// group's leader makes every other node a member, and a founder too that another one has already asked for its vote.
func bootstrap(g Group, founders []fsm.Founder) error {
	if g.replica.HasLog() || !slices.ContainsFunc(founders, func(f fsm.Founder) bool { return f.ID == g.id }) {
		return nil
	}
	var first raft.Configuration
	for _, f := range founders {
		first.Servers = append(first.Servers, raft.Server{ID: f.ID, Address: raft.ServerAddress(f.Address)})
	}
	if err := g.replica.Bootstrap(first); !errors.Is(err, raft.ErrCantBootstrap) {
		return err
	}
	return nil
}
