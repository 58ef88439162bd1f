package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/forward"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/share"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
)

// Node is one node of a cluster. Open makes one, Close ends it. It connects the parts below, which do not know it, and has the
// methods for clients and other nodes.
type Node struct {
	opt   Options
	id    raft.ServerID
	log   *oncelog.Log
	disk  Disk
	clock *clock.Clock

	hadLog bool // at its start

	raft  *raftGroup
	logs  *watchedLog
	peers *transport.Peers // connections to other nodes
	fsm   *fsm.Machine
	saved *savedState

	statuses *peerStatuses // of other nodes
	leader   *leaderFinder
	formats  *versionGate

	proposer   *propose.Proposer
	share      *share.Share
	role       *leaderRole
	transfers  *transfers
	withdrawal *withdrawal
	election   *election
	health     *health

	decider     *decider
	holder      *holder
	voids       *voids
	forwarder   *forward.Client // calls to the leader
	forwarded   *forward.Server // calls of other nodes
	metrics     *metrics
	shareSwitch *shareSwitch

	members   *membership
	pledges   *pledges
	discovery *discovery
	compactor *logCompactor

	cancel context.CancelFunc // of raft.ctx
	ended  sync.WaitGroup
	failed chan error
}

// Open starts a node: it reads its log, and looks for the others in the background.
func Open(o Options) (*Node, error) {
	if o.MeetEvery == 0 {
		o.MeetEvery = time.Second
	}
	if o.Network == nil {
		o.Network = transport.TCP{}
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	if o.SinceBoot == nil {
		o.SinceBoot = sinceBoot
	}
	if o.additions == nil {
		o.additions = fsm.Additions
	}
	if !slices.Contains(o.Peers, o.Advertise) {
		return nil, fmt.Errorf("--cluster-peers does not contain this node's own address, %s: give every node the same list of all of them", o.Advertise)
	}
	incarnation, err := o.Disk.Incarnation(o.Node)
	if err != nil {
		return nil, err
	}
	n := &Node{
		opt: o, id: serverID(o.Node, incarnation), disk: o.Disk, clock: clock.New(o.Wall), metrics: newMetrics(),
		failed: make(chan error, 1), forwarder: forward.NewClient(),
	}
	n.log = oncelog.New(o.Log.With("node", o.Node))
	if o.Passed != nil {
		n.clock.Passed = o.Passed
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.raft = &raftGroup{ctx: ctx, id: n.id, clock: n.clock, heartbeat: o.Heartbeat}
	n.connectParts()
	n.saved.restore()
	n.formats.before = n.saved.formatsBefore
	if err := n.peers.Listen(o.Listen); err != nil {
		return nil, err
	}
	if err := n.startRaft(); err != nil {
		n.peers.Halt()
		return nil, err
	}
	n.hadLog = n.raft.hasLog()
	for _, run := range []func(context.Context){n.role.run, n.discovery.run, n.saved.run, n.members.promote, n.withdrawal.watchDisk, n.withdrawal.watchEntries, n.health.run, n.compactor.run, n.decider.expireCalls, n.proposeTicks, n.election.run, n.forwarder.Run, n.shareSwitch.run, n.holder.run, n.voids.run, n.watchClock} {
		n.ended.Go(func() { run(n.raft.ctx) })
	}
	n.proposer.Ended.Go(n.proposer.Run)
	n.peers.Start()
	return n, nil
}

// connectParts creates the parts. Each knows only those that it is given here; peers, the log's writer and the state machine call
// later ones by functions.
func (n *Node) connectParts() {
	n.raft.transport = &transport.RaftTransport{Ctx: n.raft.ctx, RetryEvery: n.opt.Heartbeat / 3, Mono: n.clock.Mono, IsDue: n.raft.replicatesTo}
	n.peers = transport.New(transport.Config{
		Network: n.opt.Network, Address: n.opt.Advertise, Log: n.log.Logger, MaxUnauthenticated: n.opt.Unauthenticated,
		Hello: n.helloTo, Known: n.raft.idAt, OnConnect: n.raft.transport.NoteConnected,
		Leads: func() bool { return n.raft.State() == raft.Leader },
		Check: func(theirs transport.Hello) error {
			return n.formats.check(theirs.From, fsm.FormatVersion(theirs.Formats))
		},
		Serve: map[transport.Purpose]func(net.Conn){transport.ForCalls: func(c net.Conn) { n.forwarded.Serve(c) }, transport.ForRPC: n.serveRPC},
	})
	n.proposer = propose.New(propose.Config{
		Apply: func(b []byte) raft.ApplyFuture { return n.raft.Apply(b, 0) }, Stamp: n.clock.Stamp, Requeue: n.forwarder.Requeue, Weigh: n.opt.Store.Weigh,
		CountFailure: n.metrics.countFailure, LateAfter: max(n.opt.DecideTimeout/2, n.opt.Heartbeat), Outstanding: &n.raft.outstanding,
	})
	n.formats = &versionGate{Formats: fsm.NewFormats(n.opt.additions), raft: n.raft}
	n.fsm = fsm.New(fsm.Config{Store: n.opt.Store, Clock: n.clock, TakeCalls: n.proposer.TakeCalls, OwnID: n.proposer.ID, Fail: n.fail, Knows: n.formats.Newest})
	n.logs = &watchedLog{LogStore: n.disk.Logs(), mono: n.clock.Mono, late: n.proposer.LateAfter}
	n.logs.slow.Store(never)
	n.saved = &savedState{opt: &n.opt, disk: n.disk, clock: n.clock, fsm: n.fsm, log: n.log}
	n.statuses = &peerStatuses{opt: &n.opt, peers: n.peers, members: n.raft.servers, byID: map[raft.ServerID]MemberStatus{}}
	n.leader = &leaderFinder{opt: &n.opt, raft: n.raft, peers: n.peers, statuses: n.statuses, saved: n.saved}
	n.formats.fsm, n.formats.statuses, n.formats.proposer = n.fsm, n.statuses, n.proposer
	n.share = share.New(n.opt.Store, n.fsm.Now.Load, func() int64 { return max(n.clock.NowOrWall(), n.fsm.Now.Load()) })
	n.role = &leaderRole{share: n.share, opt: &n.opt, raft: n.raft, peers: n.peers, clock: n.clock, fsm: n.fsm, statuses: n.statuses, leader: n.leader, formats: n.formats, proposer: n.proposer, metrics: n.metrics, log: n.log}
	n.clock.Leads = func() bool { return n.role.current.Load() != nil }
	n.shareSwitch = &shareSwitch{opt: &n.opt, clock: n.clock, fsm: n.fsm, formats: n.formats, role: n.role, share: n.share, log: n.log}
	n.decider = &decider{share: n.share, opt: &n.opt, clock: n.clock, fsm: n.fsm, formats: n.formats, role: n.role, proposer: n.proposer, forwarder: n.forwarder, metrics: n.metrics, seed: maphash.MakeSeed()}
	n.connectHolder()
	n.fsm.OnCluster = func(before, now *fsm.Cluster) {
		for id, m := range now.Members {
			if m.Formats != before.Members[id].Formats {
				n.statuses.NoteFormats(id, m.Formats)
			}
		}
		n.holder.noteCluster(now)
	}
	n.connectForwarding()
	n.transfers = &transfers{opt: &n.opt, raft: n.raft, peers: n.peers, clock: n.clock, statuses: n.statuses, leader: n.leader, role: n.role, proposer: n.proposer, forwarded: n.forwarded}
	n.withdrawal = &withdrawal{opt: &n.opt, raft: n.raft, peers: n.peers, clock: n.clock, logs: n.logs, statuses: n.statuses, leader: n.leader, role: n.role, proposer: n.proposer, log: n.log}
	n.withdrawal.began.Store(never)
	n.election = &election{opt: &n.opt, raft: n.raft, statuses: n.statuses, withdrawal: n.withdrawal, log: n.log}
	n.health = &health{opt: &n.opt, raft: n.raft, peers: n.peers, clock: n.clock, fsm: n.fsm, logs: n.logs, saved: n.saved, statuses: n.statuses, leader: n.leader, role: n.role, proposer: n.proposer}
	n.health.caughtUp.Store(never)
	n.members = &membership{opt: &n.opt, raft: n.raft, fsm: n.fsm, statuses: n.statuses, leader: n.leader, formats: n.formats, role: n.role, transfers: n.transfers, log: n.log, ownProcess: n.holder.report, changing: make(chan struct{}, 1)}
	n.pledges = &pledges{opt: &n.opt, raft: n.raft, stable: n.disk.Stable(), saved: n.saved, statuses: n.statuses, log: n.log}
	n.discovery = &discovery{opt: &n.opt, raft: n.raft, fsm: n.fsm, saved: n.saved, statuses: n.statuses, leader: n.leader, formats: n.formats, pledges: n.pledges, log: n.log, callLeader: n.callLeader, fail: n.fail}
	n.compactor = &logCompactor{opt: &n.opt, raft: n.raft, logs: n.logs, log: n.log}
}

// fail is called when this node cannot apply the log further.
func (n *Node) fail(err error) {
	n.log.Error("this node cannot continue", "error", err)
	select {
	case n.failed <- err:
	default:
	}
}

// Failed delivers the reason when this node cannot go on and has to be ended.
func (n *Node) Failed() <-chan error { return n.failed }

// Now is the cluster's time as far as this node knows it, in nanoseconds since the Unix epoch; before it knows any, its own
// clock's.
func (n *Node) Now() int64 { return n.clock.NowOrWall() }

// Sweep is [store.Store.Sweep] at the time of the last entry applied: a key that is expired then is expired for
// every later entry. This node's own clock does not count, because a later leader's clock may be behind it.
func (n *Node) Sweep(_ int64, count int) (looked, dropped int) {
	return n.opt.Store.Sweep(n.fsm.Now.Load(), count)
}

// helloTo is this node's part of a handshake.
func (n *Node) helloTo(to raft.ServerID) transport.Hello {
	return transport.Hello{From: n.id, To: to, Cluster: n.saved.clusterID(), Formats: uint32(n.formats.Stated())}
}

// proposeTicks makes a leader write the time into the log when nothing else is written and there are limiters that
// may expire: then every node drops the expired ones, and knows the time in case it becomes leader.
func (n *Node) proposeTicks(ctx context.Context) {
	last := int64(0)
	clock.Every(ctx, tickEvery, func() {
		entries := n.fsm.Entries.Load()
		if n.role.active() != nil && entries == last && n.opt.Store.Len() > 0 {
			n.proposer.AddOther(fsm.KindTick, nil)
		}
		last = entries
	})
}

const tickEvery = time.Second

// Close ends the node. HandOver before it spares clients the wait for an election.
func (n *Node) Close() error {
	n.role.current.Store(nil)
	n.cancel()
	n.proposer.Halt()
	n.raft.letAnswer(&n.proposer.Ended)
	n.peers.EndDials()
	err := n.raft.Shutdown().Error()
	n.peers.Halt()
	err = errors.Join(err, n.raft.transport.Close())
	n.ended.Wait()
	n.proposer.Ended.Wait()
	for _, c := range n.decider.pending.Close() {
		n.metrics.countFailure(c.Fail(engine.NoLeader))
	}
	return errors.Join(err, n.disk.Close())
}
