package keygroups

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/shared"
	"github.com/stintdb/stint/cluster/transport"
)

// Groups are the groups of keys of a node. Every node has a replica of each group, or of the groups that the table in
// group 0's log gives it. The groups begin when the log of group 0 names their founders. After a restart they start
// from the node's directory, whether group 0 answers or not.
type Groups struct {
	opt      Config
	id       raft.ServerID   // of this node
	ctx      context.Context // of the node
	first    *group.Group    // group 0
	statuses *peers.Statuses
	log      *oncelog.Log

	connector connector

	// set while this node brings the state that the cluster begins with, and so has to lead all groups
	importing     atomic.Bool
	awaitedImport atomic.Bool // the notes in this node's directory say that the cluster began with an import

	mu      sync.Mutex     // held while groups begin and end
	ended   bool           // no group begins from here on
	ending  chan struct{}  // closed when ended is set
	leaves  sync.WaitGroup // replicas that leave, and remote groups that are no longer needed
	disks   map[int]Disk
	leaving map[int]bool // by number: the replica has left its group, and ends
	notes   notes
	started atomic.Pointer[[]Group] // from group 1 on

	leaderless atomic.Pointer[string] // which groups have no leader, since when, and what to do; nil if all have one
}

// New returns the groups of a node, of which none has begun. They run until ctx ends.
func New(ctx context.Context, c Config) *Groups {
	k := &Groups{opt: c, id: c.Common.ID, ctx: ctx, log: c.Common.Log, notes: notes{stable: c.Stable},
		ending: make(chan struct{})}
	k.connector.opt, k.connector.ctx = &k.opt, ctx
	k.connector.ahead.Store(int64(c.Common.Ahead))
	return k
}

// Connect gives the groups the parts of the machine that they need. It is called once, before any group begins.
func (k *Groups) Connect(first *group.Group, conns *transport.Peers, statuses *peers.Statuses) {
	k.first, k.statuses = first, statuses
	c := &k.connector
	c.first, c.conns, c.statuses, c.links = first, conns, statuses, raftnode.NewLinks(conns)
}

// Messenger sends the messages of group 0's Raft, over the connections that it shares with the groups of keys.
func (k *Groups) Messenger() transport.Messenger { return k.connector.messenger(0, k.id) }

// All returns the groups, from group 1 on; none before they have begun.
func (k *Groups) All() []Group {
	if started := k.started.Load(); started != nil {
		return *started
	}
	return nil
}

// Here returns the groups with a replica here, by their numbers.
func (k *Groups) Here() iter.Seq2[int, *group.Group] {
	return func(yield func(int, *group.Group) bool) {
		for i, g := range k.All() {
			if g.replica != nil && !yield(i+1, g.replica) {
				return
			}
		}
	}
}

// WithState returns the groups of which this node has a replica that answers, by their numbers.
func (k *Groups) WithState() iter.Seq2[int, *group.Group] {
	return func(yield func(int, *group.Group) bool) {
		for number, g := range k.Here() {
			if k.HasState(number) && !yield(number, g) {
				return
			}
		}
	}
}

// HasState reports whether this node has a replica of a group, and that replica answers.
func (k *Groups) HasState(number int) bool {
	g := k.Group(number)
	return g.replica != nil && g.remote == nil
}

// Replica returns the replica here of the group with a number; nil if there is none.
func (k *Groups) Replica(number uint32) *group.Group { return k.Group(int(number)).replica }

// Group returns the group with a number. It is empty before the group has begun.
func (k *Groups) Group(number int) Group {
	if all := k.All(); number > 0 && number <= len(all) {
		return all[number-1]
	}
	return Group{}
}

// WithPurses returns the groups as package shared sees them.
func (k *Groups) WithPurses() (all []shared.Replica) {
	for number, g := range k.WithState() {
		leads := func() bool { is, _ := g.Leads(); return is }
		all = append(all, shared.Replica{Number: number, Leads: leads, Now: g.Now, Store: k.opt.Stores[number-1]})
	}
	return all
}

// OwnStatuses returns this node's status in each group with a replica here, as other nodes ask for it; nil if there is
// none.
func (k *Groups) OwnStatuses() (all map[uint32]group.MemberStatus) {
	for number, g := range k.Here() {
		if all == nil {
			all = map[uint32]group.MemberStatus{}
		}
		own := g.OwnStatus()
		if k.opt.Common.Replicas > 0 && own.Leads {
			own.Members = Votes(g)
		}
		all[uint32(number)] = own
	}
	return all
}

// SetAhead is [group.Group.SetAhead], also for the groups that begin later.
func (k *Groups) SetAhead(d time.Duration) {
	k.connector.ahead.Store(int64(d))
	for _, g := range k.Here() {
		g.SetAhead(d)
	}
}

// SetImporting says whether this node brings the state that the cluster begins with. No leader is moved meanwhile,
// because this node has to lead all groups.
func (k *Groups) SetImporting(is bool) { k.importing.Store(is) }

// AwaitsImport reports whether the cluster still awaits the state that it begins with. Until group 0 has a state, the
// directory says it.
func (k *Groups) AwaitsImport() bool {
	if known := k.first.Cluster(); known.ClusterID != "" {
		return known.AwaitsImport()
	}
	return k.awaitedImport.Load()
}

// BeginNoMore prevents groups from beginning or leaving from here on, and closes the remote groups, which answers their
// outstanding calls.
func (k *Groups) BeginNoMore() {
	k.mu.Lock()
	k.ended = true
	close(k.ending)
	k.mu.Unlock()
	k.leaves.Wait()
	for _, g := range k.All() {
		if g.remote != nil {
			g.remote.Close()
		}
	}
}

// Close closes the groups' disks, after the groups have been closed.
func (k *Groups) Close() error {
	var errs []error
	for _, d := range k.disks {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
