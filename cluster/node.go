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

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/router"
	"github.com/stintdb/stint/cluster/shared"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
)

// Node is one node of a cluster: the parts of a machine, and its groups. [Open] starts a node, [Node.Close] ends it.
type Node struct {
	opt Options
	id  raft.ServerID
	log *oncelog.Log

	conns    *transport.Peers // to other nodes
	statuses *peers.Statuses  // of other nodes
	patterns *peers.SharedPatterns
	first    *group.Group // group 0, of all nodes
	keys     *keygroups.Groups
	router   *router.Router // nil where group 0 has all keys
	// shared is nil where group 0 has all keys. Without patterns it only returns tokens that were lent under earlier
	// patterns.
	shared *shared.Limits

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
	if !slices.Contains(o.Peers, o.Advertise) && !slices.ContainsFunc(o.Peers, peers.IsName) {
		return nil, fmt.Errorf("--cluster-peers does not contain this node's own address, %s: "+
			"give every node the same list of all of them",
			o.Advertise)
	}
	incarnation, err := o.Disk.Incarnation(o.Node)
	if err != nil {
		return nil, err
	}
	n := &Node{opt: o, id: serverID(o.Node, incarnation), log: oncelog.New(o.Log.With("node", o.Node)),
		failed: make(chan error, 1)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.connectParts()
	if err := n.conns.Listen(o.Listen); err != nil {
		return nil, err
	}
	messenger := n.keys.Messenger()
	if n.opt.messenger != nil {
		messenger = n.opt.messenger(n.first, messenger)
	}
	if err := n.first.Start(messenger); err != nil {
		n.conns.Halt()
		return nil, err
	}
	if err := n.keys.Resume(); err != nil {
		return nil, errors.Join(err, n.end())
	}
	n.ended.Go(func() { n.discovery.run(n.ctx) })
	clock.Every(n.ctx, &n.ended, n.opt.MeetEvery, n.endRemovals)
	n.keys.Run(n.ctx, &n.ended)
	if n.router != nil {
		clock.Every(n.ctx, &n.ended, n.opt.MeetEvery, func(ctx context.Context) { followPressure(ctx, n) })
		clock.Every(n.ctx, &n.ended, n.opt.MeetEvery, n.patterns.Step)
	}
	n.conns.Start()
	return n, nil
}

// connectParts creates the parts. Each part knows only the parts that it is given here.
func (n *Node) connectParts() {
	c := n.opt.forGroup(n.id, n.log, n.fail)
	c.IsRemoved = func(id raft.ServerID) bool { return n.first.Cluster().IsRemoved(placement.Node(id)) }
	c.AwaitsImport = func() bool { return n.keys.AwaitsImport() }
	c.ImportName = func() string { return n.pledges.importName() }
	if n.opt.Groups > 1 {
		n.router = router.New(n.ctx, n.opt.Groups, n.opt.Store, n.knowPolicies)
		n.router.Share(n.opt.Shared)
	}
	n.first = group.New(n.ctx, c)
	n.keys = keygroups.New(n.ctx, n.opt.forKeyGroups(c, n.router))
	n.conns = transport.New(n.keys.ForPeers(n.first.ForPeers(transport.Config{
		Network: n.opt.Network, Address: n.opt.Advertise, Log: n.log.Logger, MaxUnauthenticated: n.opt.Unauthenticated,
		Serve: map[transport.Purpose]func(net.Conn, transport.Hello){transport.ForRPC: n.serve},
	})))
	n.statuses = peers.New(peers.Config{
		Peers: n.opt.Peers, Resolver: n.opt.Resolver, Members: n.members, Advertise: n.opt.Advertise, Groups: n.opt.Groups, MeetEvery: n.opt.MeetEvery,
		Watched: n.opt.Watched,
	}, n.conns)
	n.patterns = &peers.SharedPatterns{ID: n.id, Own: n.opt.patterns(), Members: n.first.Members, Statuses: n.statuses,
		Log: n.log}
	n.keys.Connect(n.first, n.conns, n.statuses)
	if n.router != nil {
		n.shared = shared.New(n.ctx, shared.Options{Router: n.router, Policies: n.opt.Store, Timeout: n.opt.DecideTimeout,
			Replicas: n.keys.WithPurses})
	}
	n.first.Connect(n.conns, n.statuses)
	n.pledges = &pledges{opt: &n.opt, id: n.id, group: n.first, stable: n.opt.Disk.Stable(), statuses: n.statuses,
		log: n.log}
	n.discovery = &discovery{opt: &n.opt, id: n.id, group: n.first, statuses: n.statuses, pledges: n.pledges, keys: n.keys,
		log: n.log, fail: n.fail}
}

// serve answers the requests of another node on a connection.
func (n *Node) serve(conn net.Conn, _ transport.Hello) {
	s := &peers.Server{ID: n.id, Log: n.log, Group: n.groupOf, Status: n.ownStatus, KeyGroups: n.keys.OwnStatuses,
		Counts: n.opt.Counts, Pledge: n.pledges.give}
	s.Serve(n.ctx, conn)
}

// ownStatus returns this node's status in group 0, as other nodes ask for it.
func (n *Node) ownStatus() group.MemberStatus {
	r := n.first.OwnStatus()
	patterns := n.opt.patterns()
	r.Full, r.Shared = n.full.Load(), &patterns
	if !r.Started {
		r.Pledged, r.ImportName = n.pledges.givenTo(), n.opt.ImportName
	}
	return r
}

// Group returns group 0, of which all nodes are members. It decides all keys, unless there are groups of keys.
func (n *Node) Group() *group.Group { return n.first }

// Decide decides a batch by the groups that have its keys, as [group.Group.Decide] does by one group.
func (n *Node) Decide(b *engine.Batch) (finished bool) {
	switch {
	case n.router == nil:
		return n.first.Decide(b)
	case len(n.opt.Shared) == 0:
		return n.router.Decide(b)
	}
	return n.shared.Decide(b)
}

// knowPolicies waits until the replica of group 0 here has everything acknowledged before the call, policies too.
func (n *Node) knowPolicies(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.opt.DecideTimeout)
	defer cancel()
	return n.first.Barrier(ctx)
}

// KeyGroups returns the groups of keys with a replica here, by their numbers, from group 1 on. There are none where
// group 0 has all keys, and before the groups have begun.
func (n *Node) KeyGroups() iter.Seq2[int, *group.Group] { return n.keys.Here() }

// HasReplica reports whether this node has a replica of a group of keys, and the replica has the state.
func (n *Node) HasReplica(number int) bool { return n.keys.HasState(number) }

// groupOf returns the replica here of a group; nil for none.
func (n *Node) groupOf(number uint32) *group.Group {
	if number == 0 {
		return n.first
	}
	return n.keys.Replica(number)
}

// groups returns the groups with a replica here that has the state.
func (n *Node) groups() []*group.Group { return n.withFirst(n.keys.WithState()) }

// everyGroup returns all groups with a replica here.
func (n *Node) everyGroup() []*group.Group { return n.withFirst(n.keys.Here()) }

// withFirst returns group 0 and some groups of keys.
func (n *Node) withFirst(keys iter.Seq2[int, *group.Group]) []*group.Group {
	all := []*group.Group{n.first}
	for _, g := range keys {
		all = append(all, g)
	}
	return all
}

// members returns the members of all groups.
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

// Failed delivers the reason when this node cannot go on and has to be closed.
func (n *Node) Failed() <-chan error { return n.failed }

// Close ends the node. A call of [Node.HandOver] before it spares clients the wait for an election.
func (n *Node) Close() error { return errors.Join(n.end(), n.opt.Disk.Close()) }

// end ends everything but group 0's directory.
func (n *Node) end() error {
	var errs []error
	n.keys.BeginNoMore()
	for _, g := range n.everyGroup() {
		g.Halt()
	}
	n.cancel()
	n.conns.EndDials()
	for _, g := range n.everyGroup() {
		errs = append(errs, g.ShutDown())
	}
	n.conns.Halt()
	for _, g := range n.everyGroup() {
		errs = append(errs, g.Close())
	}
	n.ended.Wait()
	if n.shared != nil {
		n.shared.Close()
	}
	return errors.Join(append(errs, n.keys.Close())...)
}
