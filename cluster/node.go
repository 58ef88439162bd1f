package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/transport"
)

// Node is one node of a cluster: the parts of a machine, and its groups. Open makes one, Close ends it.
type Node struct {
	opt Options
	id  raft.ServerID
	log *oncelog.Log

	peers    *transport.Peers     // connections to other nodes
	statuses *peerStatuses        // of other nodes
	groups   map[int]*group.Group // by their numbers; there is one

	pledges   *pledges
	discovery *discovery

	ctx    context.Context
	cancel context.CancelFunc // of ctx
	ended  sync.WaitGroup
	failed chan error
}

// firstGroup is the number of the group that all nodes are members of.
const firstGroup = 0

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
	if err := n.Group().Start(); err != nil {
		n.peers.Halt()
		return nil, err
	}
	n.ended.Go(func() { n.discovery.run(n.ctx) })
	n.peers.Start()
	return n, nil
}

// connectParts creates the parts. Each knows only those that it is given here.
func (n *Node) connectParts() {
	g := group.New(n.ctx, n.opt.forGroup(n.id, n.log, n.fail))
	n.groups = map[int]*group.Group{firstGroup: g}
	n.peers = transport.New(g.ForPeers(transport.Config{
		Network: n.opt.Network, Address: n.opt.Advertise, Log: n.log.Logger, MaxUnauthenticated: n.opt.Unauthenticated, NoFrames: n.opt.noFrames,
		Serve: map[transport.Purpose]func(net.Conn){transport.ForRPC: n.serveRPC},
	}))
	n.statuses = &peerStatuses{opt: &n.opt, peers: n.peers, members: n.members, byID: map[raft.ServerID]group.MemberStatus{}}
	g.Connect(n.peers, n.statuses)
	n.pledges = &pledges{opt: &n.opt, id: n.id, group: g, stable: n.opt.Disk.Stable(), statuses: n.statuses, log: n.log}
	n.discovery = &discovery{opt: &n.opt, id: n.id, group: g, statuses: n.statuses, pledges: n.pledges, log: n.log, fail: n.fail}
}

// Group is the group that all nodes are members of. It decides all keys.
func (n *Node) Group() *group.Group { return n.groups[firstGroup] }

// members are those of all groups.
func (n *Node) members() (all []raft.Server) {
	for _, g := range n.groups {
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

// Close ends the node. [Group.HandOver] before it spares clients the wait for an election.
func (n *Node) Close() error {
	var errs []error
	for _, g := range n.groups {
		g.Halt()
	}
	n.cancel()
	n.peers.EndDials()
	for _, g := range n.groups {
		errs = append(errs, g.ShutDown())
	}
	n.peers.Halt()
	for _, g := range n.groups {
		errs = append(errs, g.Close())
	}
	n.ended.Wait()
	return errors.Join(append(errs, n.opt.Disk.Close())...)
}
