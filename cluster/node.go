package cluster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/router"
	"github.com/stintdb/stint/cluster/shared"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
)

// Node is one node of a cluster: the parts of a machine, and its groups. Open makes one, Close ends it.
type Node struct {
	opt Options
	id  raft.ServerID
	log *oncelog.Log

	peers    *transport.Peers // connections to other nodes
	statuses *peerStatuses    // of other nodes
	first    *group.Group     // group 0, of all nodes
	keys     *keyGroups
	router   *router.Router // nil where group 0 has all keys
	shared   *shared.Limits // nil where group 0 has all keys; without patterns it only returns tokens that were lent under earlier ones

	full atomic.Bool // the keys here take all the memory that they may

	pledges   *pledges
	discovery *discovery

	ctx    context.Context
	cancel context.CancelFunc // of ctx
	ended  sync.WaitGroup
	failed chan error
}

// Open starts a node: it reads its log, and looks for the others in the background.
func Open(o Options) (*Node, error) {
	o.setDefaults()
	if !slices.Contains(o.Peers, o.Advertise) {
		return nil, fmt.Errorf("--cluster-peers does not contain this node's own address, %s: give every node the same list of all of them", o.Advertise)
	}
	incarnation, err := o.Disk.Incarnation(o.Node)
	if err != nil {
		return nil, err
	}
	n := &Node{opt: o, id: serverID(o.Node, incarnation), log: oncelog.New(o.Log.With("node", o.Node)), failed: make(chan error, 1)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.connectParts()
	if err := n.peers.Listen(o.Listen); err != nil {
		return nil, err
	}
	n.keys.links = raftnode.NewLinks(n.peers)
	var messenger transport.Messenger = n.keys.links.Group(0, n.id)
	if n.opt.messenger != nil {
		messenger = n.opt.messenger(n.first, messenger)
	}
	if err := n.first.Start(messenger); err != nil {
		n.peers.Halt()
		return nil, err
	}
	if err := n.keys.resume(); err != nil {
		return nil, errors.Join(err, n.end())
	}
	n.ended.Go(func() { n.discovery.run(n.ctx) })
	clock.Every(n.ctx, &n.ended, n.opt.MeetEvery, n.endRemovals)
	l := &leaderless{keys: n.keys, statuses: n.statuses, log: n.log, since: map[int]time.Time{}}
	clock.Every(n.ctx, &n.ended, n.opt.MeetEvery, l.step)
	if n.router != nil {
		b := &balancer{keys: n.keys, statuses: n.statuses, log: n.log}
		clock.Every(n.ctx, &n.ended, n.opt.MeetEvery, func(ctx context.Context) { b.step(ctx, time.Now()) })
		clock.Every(n.ctx, &n.ended, n.opt.MeetEvery, func(ctx context.Context) { followPressure(ctx, n) })
		p := &sharedPatterns{keys: n.keys, statuses: n.statuses, log: n.log}
		clock.Every(n.ctx, &n.ended, n.opt.MeetEvery, p.step)
		if n.opt.Replicas > 0 {
			p := &placer{keys: n.keys, statuses: n.statuses, log: n.log}
			clock.Every(n.ctx, &n.ended, n.opt.MeetEvery, p.step)
		}
	}
	n.peers.Start()
	return n, nil
}

// connectParts creates the parts. Each knows only those that it is given here.
func (n *Node) connectParts() {
	n.keys = &keyGroups{opt: &n.opt, id: n.id, ctx: n.ctx, log: n.log, fail: n.fail, ending: make(chan struct{})}
	n.keys.ahead.Store(int64(n.opt.Ahead))
	c := n.opt.forGroup(n.id, n.log, n.fail)
	c.IsRemoved, c.AwaitsImport = n.keys.isRemoved, n.keys.awaitsImport
	c.ImportName = func() string { return n.pledges.importName() }
	g := group.New(n.ctx, c)
	n.first, n.keys.first = g, g
	n.peers = transport.New(n.keys.forPeers(g.ForPeers(transport.Config{
		Network: n.opt.Network, Address: n.opt.Advertise, Log: n.log.Logger, MaxUnauthenticated: n.opt.Unauthenticated,
		Serve: map[transport.Purpose]func(net.Conn, transport.Hello){transport.ForRPC: n.serveRPC},
	})))
	n.statuses = &peerStatuses{opt: &n.opt, peers: n.peers, members: n.members, byID: map[raft.ServerID]nodeStatus{}, silent: map[string]unanswered{}}
	n.statuses.shared = &sharedFetches{ask: n.statuses.fetch, next: map[string]*sharedFetch{}, busy: map[string]bool{}}
	n.keys.peers, n.keys.statuses = n.peers, n.statuses
	if n.opt.Groups > 1 {
		n.router = router.New(n.ctx, n.opt.Groups, n.opt.Store, n.knowPolicies)
		n.keys.onBegin = n.router.Begin
		n.router.Share(n.opt.Shared)
		n.shared = shared.New(n.ctx, shared.Options{Router: n.router, Policies: n.opt.Store, Timeout: n.opt.DecideTimeout, Replicas: n.keys.withPurses})
	}
	g.Connect(n.peers, n.statuses)
	n.pledges = &pledges{opt: &n.opt, id: n.id, group: g, stable: n.opt.Disk.Stable(), statuses: n.statuses, log: n.log}
	n.discovery = &discovery{opt: &n.opt, id: n.id, group: g, statuses: n.statuses, pledges: n.pledges, keys: n.keys, log: n.log, fail: n.fail}
}

// Group is the group that all nodes are members of. It decides all keys, unless there are groups of keys.
func (n *Node) Group() *group.Group { return n.first }

// Decide has a batch decided by the groups that have its keys, as [group.Group.Decide] does by one.
func (n *Node) Decide(b *engine.Batch) (finished bool) {
	switch {
	case n.router == nil:
		return n.first.Decide(b)
	case len(n.opt.Shared) == 0:
		return n.router.Decide(b)
	}
	return n.shared.Decide(b)
}

// knowPolicies waits until group 0 has here all that was acknowledged before, policies too.
func (n *Node) knowPolicies(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.opt.DecideTimeout)
	defer cancel()
	return n.first.Barrier(ctx)
}

// KeyGroups are the groups that have the keys and a replica here, by their numbers, from group 1 on; none where group 0 has all, and before they have
// begun.
func (n *Node) KeyGroups() iter.Seq2[int, *group.Group] { return n.keys.here() }

// HasReplica reports whether this node has a replica of a group of keys, with the state.
func (n *Node) HasReplica(number int) bool { return n.keys.hasState(number) }

// groupOf is a group by its number, nil if it is not here.
func (n *Node) groupOf(number uint32) *group.Group {
	if number == 0 {
		return n.first
	}
	return n.keys.numbered(number)
}

// groups are all that are here and have the state.
func (n *Node) groups() []*group.Group {
	all := []*group.Group{n.first}
	for _, g := range n.keys.all() {
		if g.remote == nil {
			all = append(all, g.Group)
		}
	}
	return all
}

// everyGroup is all that are here.
func (n *Node) everyGroup() []*group.Group {
	all := []*group.Group{n.first}
	for _, g := range n.keys.here() {
		all = append(all, g)
	}
	return all
}

// members are those of all groups.
func (n *Node) members() (all []raft.Server) {
	for _, g := range n.groups() {
		all = append(all, g.Members()...)
	}
	return all
}

// fail is called when this node cannot apply a log further.
func (n *Node) fail(err error) {
	n.log.Error("this node cannot continue", "error", err)
	select {
	case n.failed <- err:
	default:
	}
}

// Failed delivers the reason when this node cannot go on and has to be ended.
func (n *Node) Failed() <-chan error { return n.failed }

// Close ends the node. [Node.HandOver] before it spares clients the wait for an election.
func (n *Node) Close() error { return errors.Join(n.end(), n.opt.Disk.Close()) }

// end ends everything but group 0's directory.
func (n *Node) end() error {
	var errs []error
	n.keys.beginNoMore()
	n.keys.leaves.Wait()
	n.keys.endRemotes()
	for _, g := range n.everyGroup() {
		g.Halt()
	}
	n.cancel()
	n.peers.EndDials()
	for _, g := range n.everyGroup() {
		errs = append(errs, g.ShutDown())
	}
	n.peers.Halt()
	for _, g := range n.everyGroup() {
		errs = append(errs, g.Close())
	}
	n.ended.Wait()
	if n.shared != nil {
		n.shared.Close()
	}
	return errors.Join(append(errs, n.keys.closeDisks())...)
}
