// Package group is one Raft group on one of its nodes: everything that decides by one log. The machine gives it connections to other
// nodes, and their statuses.
package group

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/allowance"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/forward"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group/decide"
	"github.com/stintdb/stint/cluster/group/loans"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
)

// Group is one Raft group on this node: a log, and all that decides by it. It connects the parts below, which do not know it, and has
// the methods for clients and for the machine.
//
// New makes one, Connect gives it the machine's parts, Start starts it, Halt and Close end it.
type Group struct {
	opt   Config
	log   *oncelog.Log
	clock *clock.Clock

	raft     *raftnode.Node
	logs     *raftnode.WatchedLog
	peers    *transport.Peers // connections to other nodes, of the machine
	statuses Statuses         // of other nodes, by the machine
	fsm      *fsm.Machine
	saved    *savedState

	leader  *leaderFinder
	formats *versionGate

	proposer   *propose.Proposer
	allowance  *allowance.Allowance
	role       *leaderRole
	transfers  *transfers
	withdrawal *withdrawal
	election   *election
	health     *health

	decider         *decide.Decider
	holder          *loans.Holder
	voids           *loans.Voids
	forwarder       *forward.Client // calls to the leader
	forwarded       *forward.Server // calls of other nodes
	metrics         *metrics
	allowanceSwitch *allowanceSwitch

	members   *membership
	compactor *raftnode.Compactor
	reader    *reader

	cancel context.CancelFunc // of raft.ctx
	ended  sync.WaitGroup
}

// New returns a group that does nothing yet. It ends with ctx, or by [Group.Halt].
func New(ctx context.Context, c Config) *Group {
	g := &Group{opt: c, log: c.Log, clock: clock.New(c.Wall), metrics: &metrics{}, forwarder: forward.NewClient()}
	if c.Passed != nil {
		g.clock.Passed = c.Passed
	}
	ctx, g.cancel = context.WithCancel(ctx)
	g.raft = raftnode.New(ctx, c.ID, c.Heartbeat, g.clock, c.Log.Logger, c.Fail)
	return g
}

// ForPeers adds the group's functions to the configuration of the machine's connections.
func (g *Group) ForPeers(c transport.Config) transport.Config {
	c.Hello = func(to raft.ServerID) transport.Hello {
		return transport.Hello{From: g.raft.ID, To: to, Cluster: g.saved.clusterID(), Formats: uint32(g.formats.Stated())}
	}
	c.Known, c.OnConnect = g.raft.IDAt, g.raft.Transport.NoteConnected
	c.Leads = func() bool { return g.raft.State() == raft.Leader }
	c.Check = func(theirs transport.Hello) error {
		return g.formats.check(theirs.From, fsm.FormatVersion(theirs.Formats))
	}
	c.Serve[transport.ForCalls] = func(conn net.Conn, _ transport.Hello) { g.forwarded.Serve(conn) }
	return c
}

// Connect creates the parts, and restores the state that the last run saved. Each part knows only those that it is given here; the log's writer
// and the state machine call later ones by functions.
func (g *Group) Connect(peers *transport.Peers, statuses Statuses) {
	g.peers, g.statuses = peers, statuses
	if g.opt.Turns == nil {
		g.opt.Turns = noTurns{}
	}
	g.proposer = propose.New(propose.Config{
		Apply: func(b []byte) raft.ApplyFuture { return g.raft.Apply(b, 0) }, Stamp: g.clock.Stamp, Requeue: g.forwarder.Requeue, Weigh: g.opt.Store.Weigh,
		CountFailure: g.metrics.countFailure, LateAfter: max(g.opt.DecideTimeout/2, g.opt.Heartbeat), Outstanding: &g.raft.Outstanding, Rounds: g.opt.Rounds,
	})
	g.formats = &versionGate{Formats: fsm.NewFormats(g.opt.Additions), raft: g.raft}
	g.fsm = fsm.New(fsm.Config{Store: g.opt.Store, Clock: g.clock, TakeCalls: g.proposer.TakeCalls, OwnID: g.proposer.ID, Fail: g.opt.Fail, OnCluster: g.noteCluster, Knows: g.formats.Newest,
		OnApplied: func(ops []engine.Op, results []engine.Result) { noteTaken(g.opt.Turns, ops, results) }})
	g.logs = raftnode.NewWatchedLog(g.opt.Disk.Logs(), g.clock.Mono, g.proposer.LateAfter)
	g.saved = &savedState{opt: &g.opt, disk: g.opt.Disk, clock: g.clock, fsm: g.fsm, log: g.log}
	g.leader = &leaderFinder{opt: &g.opt, raft: g.raft, peers: g.peers, statuses: g.statuses, saved: g.saved}
	g.formats.fsm, g.formats.statuses, g.formats.proposer = g.fsm, g.statuses, g.proposer
	g.allowance = allowance.New(g.opt.Store, g.fsm.Now.Load, func() int64 { return max(g.clock.NowOrWall(), g.fsm.Now.Load()) })
	g.role = &leaderRole{allowance: g.allowance, opt: &g.opt, raft: g.raft, peers: g.peers, clock: g.clock, fsm: g.fsm, statuses: g.statuses, leader: g.leader, formats: g.formats, proposer: g.proposer, metrics: g.metrics, log: g.log}
	g.clock.Leads = func() bool { return g.role.current.Load() != nil }
	g.allowanceSwitch = &allowanceSwitch{opt: &g.opt, clock: g.clock, fsm: g.fsm, formats: g.formats, role: g.role, allowance: g.allowance, log: g.log}
	g.connectDecider()
	g.connectForwarding()
	g.transfers = &transfers{opt: &g.opt, raft: g.raft, peers: g.peers, clock: g.clock, statuses: g.statuses, leader: g.leader, role: g.role, proposer: g.proposer, forwarded: g.forwarded}
	g.withdrawal = &withdrawal{opt: &g.opt, raft: g.raft, peers: g.peers, clock: g.clock, logs: g.logs, statuses: g.statuses, leader: g.leader, role: g.role, proposer: g.proposer, log: g.log}
	g.withdrawal.began.Store(never)
	g.election = &election{opt: &g.opt, raft: g.raft, statuses: g.statuses, withdrawal: g.withdrawal, log: g.log}
	g.health = &health{opt: &g.opt, raft: g.raft, peers: g.peers, clock: g.clock, fsm: g.fsm, logs: g.logs, saved: g.saved, statuses: g.statuses, leader: g.leader, role: g.role, proposer: g.proposer}
	g.health.caughtUp.Store(never)
	g.members = &membership{opt: &g.opt, raft: g.raft, fsm: g.fsm, statuses: g.statuses, leader: g.leader, formats: g.formats, role: g.role, transfers: g.transfers, log: g.log, ownProcess: g.holder.Report, changing: make(chan struct{}, 1)}
	g.compactor = &raftnode.Compactor{Raft: g.raft, Logs: g.logs, LogBytes: g.opt.LogBytes, Log: g.log}
	g.reader = &reader{fsm: g.fsm, role: g.role, statuses: g.statuses, ownStatus: g.OwnStatus}
	g.saved.restore()
	g.formats.before = g.saved.formatsBefore
}

// connectDecider creates the parts that decide batches, and those that hold and void loans.
func (g *Group) connectDecider() {
	lease := func(r *leadership) decide.Lease {
		if r == nil {
			return nil
		}
		return r
	}
	g.holder = loans.New(loans.Config{
		ID: g.raft.ID, Process: fmt.Sprintf("%016x", g.proposer.ID), Ahead: g.opt.Ahead, Timeout: g.opt.DecideTimeout, Store: g.opt.Store, Clock: g.clock, Machine: g.fsm,
		Decide: func(b *engine.Batch) bool { return g.decider.Decide(b) }, Serve: func(s purses.Served) { g.decider.Serve(s) },
	})
	if g.opt.Allowance == nil {
		g.opt.Allowance = func() bool { return g.holder.Table.Ahead() > 0 }
	}
	g.decider = decide.New(decide.Config{
		Store: g.opt.Store, Clock: g.clock, Timeout: g.opt.DecideTimeout, Machine: g.fsm, IsTooNew: g.formats.isTooNew, AwaitsImport: g.opt.AwaitsImport, Turns: g.opt.Turns,
		Leads: func() decide.Lease { return lease(g.role.active()) }, AwaitLead: func() decide.Lease { return lease(g.role.awaitActive()) }, HearsLeader: g.leader.hears,
		Allowance: g.allowance, Holder: g.holder, Proposer: g.proposer, Forwarder: g.forwarder, CountFailure: g.metrics.countFailure,
	})
	g.voids = &loans.Voids{Store: g.opt.Store, Clock: g.clock, Machine: g.fsm, Log: g.log, Decide: g.decider.Decide, Term: func() uint64 {
		if r := g.role.active(); r != nil {
			return r.term
		}
		return 0
	}}
}

// noteCluster takes a new state of the cluster from the log.
func (g *Group) noteCluster(before, now *fsm.Cluster) {
	for id, m := range now.Members {
		if m.Formats != before.Members[id].Formats {
			g.statuses.NoteFormats(id, m.Formats)
		}
	}
	g.holder.NoteCluster(now)
	g.decider.NoteCluster()
}

// Start reads the log and takes part in the group, whose messages the messenger carries.
func (g *Group) Start(messenger transport.Messenger) error {
	err := g.raft.Start(raftnode.StartConfig{
		Machine: g.fsm, Logs: g.logs, Stable: g.opt.Disk.Stable(), Snapshots: g.opt.Disk.Snapshots(), Messenger: messenger, Observe: g.leader.observe, Beats: g.opt.Beats,
	})
	if err != nil {
		if g.fsm.Broken != nil { // Raft only says that it could not load it
			err = g.fsm.Broken
		}
		return errors.Join(fmt.Errorf("the cluster's log: %w", err), g.raft.Transport.Close())
	}
	g.proposer.Start()
	startTasks(g)
	g.ended.Go(func() { g.forwarder.Run(g.raft.Ctx) })
	return nil
}

// startTasks starts the periodic work of a group.
func startTasks(g *Group) {
	every := func(period time.Duration, steps ...func(context.Context)) {
		for _, step := range steps {
			clock.Every(g.raft.Ctx, &g.ended, period, step)
		}
	}
	every(g.opt.MeetEvery, g.saved.save, g.saved.watchClock, g.members.promote, g.voids.Look)
	every(tickEvery, g.role.proposeTick)
	every(raftnode.CompactionEvery, g.compactor.Look)
	g.leader.changed.Call(g.role.noteChange)
	// These have a step when another node leads, or none, too.
	for _, step := range []func(context.Context) time.Duration{g.role.look, g.election.look, g.health.look, g.holder.Tend, g.allowanceSwitch.look, g.withdrawal.watchDisk, g.withdrawal.watchEntries} {
		g.leader.changed.Call(clock.Repeat(g.raft.Ctx, &g.ended, step).Now)
	}
	g.decider.Start(g.raft.Ctx, &g.ended)
}

// Halt has the group decide nothing more, while the connections to other nodes still stand.
func (g *Group) Halt() {
	g.role.current.Store(nil)
	g.cancel()
	g.proposer.Halt()
	g.raft.LetAnswer(&g.proposer.Ended)
}

// ShutDown ends the group's Raft, once no new connections are made.
func (g *Group) ShutDown() error { return g.raft.ShutDown() }

// Close ends the group, once the machine has closed all connections. HandOver before Halt spares clients the wait for an election.
func (g *Group) Close() error {
	err := g.raft.Transport.Close()
	g.ended.Wait()
	g.proposer.Ended.Wait()
	g.decider.Close()
	return err
}
