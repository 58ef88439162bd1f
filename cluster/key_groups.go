package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/rafttransport"
	"github.com/stintdb/stint/cluster/remote"
	"github.com/stintdb/stint/cluster/router"
	"github.com/stintdb/stint/cluster/shared"
	"github.com/stintdb/stint/cluster/transport"
)

// keyGroups are the groups that have the keys, where a cluster has several. Every node has a replica of each, or of those that the table in group 0's
// log gives it. They begin when the log of group 0 names their founders; a node that was there before starts them from its directory, whatever becomes
// of group 0.
type keyGroups struct {
	opt      *Options
	id       raft.ServerID
	ctx      context.Context // of the node
	first    *group.Group    // group 0
	peers    *transport.Peers
	links    *rafttransport.Links
	statuses *peerStatuses
	log      *oncelog.Log
	fail     func(error)
	onBegin  func(groups []router.Group) // takes all groups, from group 0 on, once they may decide

	rounds propose.Rounds

	importingHere atomic.Bool // this node has to lead all groups
	awaitedImport atomic.Bool // the cluster began with an import, by this node's directory

	ahead atomic.Int64 // of [Node.SetAhead], for those that begin later

	mu      sync.Mutex    // held while they begin and end
	ended   bool          // none is to begin from here on
	ending  chan struct{} // closed then
	leaves  sync.WaitGroup
	disks   map[int]Disk
	leaving map[int]bool // the replicas that have left their groups, and end
	saved   savedGroups
	started atomic.Pointer[[]keyGroup] // from group 1 on
}

// keyGroup is a group as this node has it.
type keyGroup struct {
	*group.Group                  // the replica here, nil for none
	id           raft.ServerID    // of the replica
	conns        transport.Config // its part in the machine's connections
	remote       *remote.Group    // without a replica, or while it does not have the state yet, or leaves
}

// asked decides, or has the leader decide, and takes an operator's requests.
func (g keyGroup) asked() askedGroup {
	switch {
	case g.remote == nil:
		return g.Group
	case g.Group == nil:
		return g.remote
	}
	return beginning{g.Group, g.remote}
}

// askedGroup is a group, wherever its replicas are.
type askedGroup interface {
	router.Group
	Leads() (leads bool, client string)
	Remove(ctx context.Context, node string, again bool) error
	Transfer(ctx context.Context, node string) error
}

// all are the groups, from group 1 on; none before they have begun.
func (k *keyGroups) all() []keyGroup {
	if started := k.started.Load(); started != nil {
		return *started
	}
	return nil
}

// here are the groups with a replica here, by their numbers.
func (k *keyGroups) here() iter.Seq2[int, *group.Group] {
	return func(yield func(int, *group.Group) bool) {
		for i, g := range k.all() {
			if g.Group != nil && !yield(i+1, g.Group) {
				return
			}
		}
	}
}

// numbered is the replica here of the group with a number, nil if there is none.
func (k *keyGroups) numbered(number uint32) *group.Group { return k.entry(number).Group }

// entry is the group with a number, empty before it has begun.
func (k *keyGroups) entry(number uint32) keyGroup {
	if all := k.all(); number > 0 && int(number) <= len(all) {
		return all[number-1]
	}
	return keyGroup{}
}

// withPurses are the groups as package shared sees them.
func (k *keyGroups) withPurses() (all []shared.Replica) {
	for number, g := range k.here() {
		if !k.hasState(number) {
			continue
		}
		leads := func() bool { is, _ := g.Leads(); return is }
		all = append(all, shared.Replica{Number: number, Leads: leads, Now: g.Now, Store: k.opt.KeyStores[number-1]})
	}
	return all
}

// hasState reports whether this node has a replica of a group, and that one answers.
func (k *keyGroups) hasState(number int) bool {
	g := k.entry(uint32(number))
	return g.Group != nil && g.remote == nil
}

func (k *keyGroups) ownStatuses() (all map[uint32]group.MemberStatus) {
	for number, g := range k.here() {
		if all == nil {
			all = map[uint32]group.MemberStatus{}
		}
		own := g.OwnStatus()
		if k.opt.Replicas > 0 && own.Leads {
			own.Members = votesOf(g)
		}
		all[uint32(number)] = own
	}
	return all
}

// resume starts the groups of a node that was there before.
func (k *keyGroups) resume() error {
	text, err := k.opt.Disk.Stable().Get(groupsKey)
	if err != nil || len(text) == 0 {
		return nil // Get returns an error for a missing value
	}
	var saved savedGroups
	if err := json.Unmarshal(text, &saved); err != nil {
		return fmt.Errorf("what the directory says about the groups does not read: %w", err)
	}
	return k.begin(saved, false)
}

// tend begins the groups once the log of group 0 names the founders, and makes this node a member of each.
func (k *keyGroups) tend(ctx context.Context) error {
	known := k.first.Cluster()
	if known.ClusterID == "" {
		return nil
	}
	if own := max(k.opt.Groups, 1); own != max(known.Groups, 1) {
		return k.errNumber(max(known.Groups, 1))
	}
	if formed := known.Placement.Count(); len(known.Founders) > 0 && formed != k.opt.Replicas {
		return fmt.Errorf("--cluster-replicas is %d, and the cluster was formed with %d: start the node with --cluster-replicas %[2]d", k.opt.Replicas, formed)
	}
	if len(known.Founders) > 0 && k.started.Load() == nil {
		saved := savedGroups{Groups: known.Groups, Founders: known.Founders, ImportName: known.ImportName, Version: known.Placement.Number(), Here: k.placedHere(known.Placement)}
		if err := k.begin(saved, true); err != nil {
			return err
		}
	}
	k.warnOfImport(known.ImportName)
	if err := k.follow(ctx, known.Placement); err != nil {
		return err
	}
	for number, g := range k.here() {
		switch {
		case k.isLeaving(number) || !k.isPlaced(number, k.entry(uint32(number)).id):
			continue
		case g.HasEnded():
			return errRaftEnded
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

func (k *keyGroups) errNumber(formed int) error {
	return fmt.Errorf("--groups is %d, and the cluster was formed with %d: start the node with --groups %[2]d", max(k.opt.Groups, 1), formed)
}

// begin starts the groups. Their directories exist before anything says so, and that is said before any of them votes: so a directory that is missing
// later had votes in it, and the node does not begin another.
func (k *keyGroups) begin(saved savedGroups, isNew bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return nil
	}
	if saved.Groups != k.opt.Groups {
		return k.errNumber(saved.Groups)
	}
	k.disks, k.leaving = map[int]Disk{}, map[int]bool{}
	for number := 1; number <= saved.Groups; number++ {
		if !saved.has(number) {
			continue
		}
		disk, err := k.opt.OpenGroup(number, isNew)
		if err != nil {
			return fmt.Errorf("group %d: %w", number, err)
		}
		k.disks[number] = disk
		if _, err := disk.Incarnation(k.opt.Node); err != nil {
			return err
		}
	}
	if isNew {
		if err := k.save(saved); err != nil {
			return fmt.Errorf("the groups of keys cannot begin: %w", err)
		}
	}
	k.saved = saved
	k.awaitedImport.Store(saved.ImportName != "")
	started := make([]keyGroup, 0, saved.Groups)
	defer func() { k.started.Store(&started) }() // those that have been started are ended, too, if one cannot
	for number := 1; number <= saved.Groups; number++ {
		if !saved.has(number) {
			started = append(started, k.connectRemote(number))
			continue
		}
		g := k.connect(number, cmp.Or(saved.Here[number], k.id))
		if err := g.Start(k.links.Group(uint32(number), g.id)); err != nil {
			return fmt.Errorf("group %d: %w", number, err)
		}
		started = append(started, g)
		if err := k.bootstrap(g.Group, number, saved); err != nil {
			return fmt.Errorf("group %d: %w", number, err)
		}
	}
	k.decideBy(started)
	return nil
}

// decideBy has the router ask these groups, and group 0.
func (k *keyGroups) decideBy(all []keyGroup) {
	groups := []router.Group{k.first}
	for _, g := range all {
		groups = append(groups, g.asked())
	}
	k.onBegin(groups)
}

// awaitsImport reports whether the cluster still awaits the state that it begins with. Where group 0 has no state, the directory says it.
func (k *keyGroups) awaitsImport() bool {
	if known := k.first.Cluster(); known.ClusterID != "" {
		return known.AwaitsImport()
	}
	return k.awaitedImport.Load()
}

// warnOfImport says what to do while the cluster awaits the state that it begins with, and this node does not bring it.
func (k *keyGroups) warnOfImport(name string) {
	if k.awaitsImport() && !k.importingHere.Load() {
		k.log.WarnOnce("await import", "requests are answered with LOADING, because the cluster does not have the whole state yet that it begins with: start a node with --cluster-import and that state; or to begin without it, stop all nodes, empty every --dir, and start all",
			"state_of", name)
	}
}

func (k *keyGroups) config(number int, id raft.ServerID) group.Config {
	c := k.opt.forGroup(id, oncelog.New(k.log.With("group", number)), k.fail)
	c.AwaitsImport = k.awaitsImport
	c.Number, c.Groups, c.Replicas, c.Store, c.Disk, c.Report, c.Turns = uint32(number), 0, 0, k.opt.KeyStores[number-1], k.disks[number], nil, nil
	return c
}

// connectRemote begins to ask the leader of a group without a replica here.
func (k *keyGroups) connectRemote(number int) keyGroup {
	r := remote.New(k.config(number, k.id), k.peers, groupStatuses{k.statuses, uint32(number)})
	r.Start(k.ctx)
	return keyGroup{remote: r}
}

func (k *keyGroups) connect(number int, id raft.ServerID) keyGroup {
	c := k.config(number, id)
	if k.opt.NewTurns != nil {
		c.Turns = k.opt.NewTurns()
	}
	c.Ahead = time.Duration(k.ahead.Load())
	c.IsRemoved = func(id raft.ServerID) bool { return k.isRemoved(id) || !k.isPlaced(number, id) }
	if k.opt.Replicas == 0 { // where they are on some nodes, all that the table names vote
		c.IsToVote = func(id raft.ServerID) (votes, known bool) {
			m, known := k.first.Cluster().Members[id]
			return !m.Nonvoter, known
		}
	}
	c.Rounds, c.Beats = &k.rounds, k.opt.Heartbeat/raftnode.BeatsOfTimeout
	g := group.New(k.ctx, c)
	g.Connect(k.peers, groupStatuses{k.statuses, uint32(number)})
	return keyGroup{Group: g, id: id, conns: g.ForPeers(transport.Config{Serve: map[transport.Purpose]func(net.Conn, transport.Hello){}})}
}

// isRemoved reports whether an operator has removed a node, as far as this one knows the log of group 0.
func (k *keyGroups) isRemoved(id raft.ServerID) bool {
	return k.first.Cluster().IsRemoved(placement.Node(id))
}

// bootstrap has a founder's empty replica begin with the founders as members, or those that the first table names. All do it alike. Every other node is made a member by the
// group's leader. So is a founder that another one has already asked for its vote.
func (k *keyGroups) bootstrap(g *group.Group, number int, saved savedGroups) error {
	founders := saved.Founders
	if saved.Version > 0 {
		var ids []raft.ServerID
		for _, f := range founders {
			ids = append(ids, f.ID)
		}
		formed := fsm.Cluster{Groups: saved.Groups, ImportName: saved.ImportName}
		first := formed.FirstPlacement(ids, k.opt.Replicas).Of(number)
		founders = slices.DeleteFunc(slices.Clone(founders), func(f fsm.Founder) bool { return !slices.Contains(first, f.ID) })
	}
	if g.HasLog() || !slices.ContainsFunc(founders, func(f fsm.Founder) bool { return f.ID == cmp.Or(saved.Here[number], k.id) }) {
		return nil
	}
	var first raft.Configuration
	for _, f := range founders {
		first.Servers = append(first.Servers, raft.Server{ID: f.ID, Address: raft.ServerAddress(f.Address)})
	}
	if err := g.Bootstrap(first); !errors.Is(err, raft.ErrCantBootstrap) {
		return err
	}
	return nil
}

// beginNoMore has no group begin from here on.
func (k *keyGroups) beginNoMore() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	close(k.ending)
}

// endRemotes answers what the leaders of groups without a replica here have not.
func (k *keyGroups) endRemotes() {
	for _, g := range k.all() {
		if g.remote != nil {
			g.remote.Close()
		}
	}
}

func (k *keyGroups) closeDisks() error {
	var errs []error
	for _, d := range k.disks {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
