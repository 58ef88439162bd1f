package group

import (
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/allowance"
	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group/decide"
	"github.com/stintdb/stint/cluster/group/loans"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
)

// Connect creates the parts, from those that know no other upwards, and restores the state that the last run saved.
// Each part knows only the parts that it is given here. The log's writer and the state machine come first, and call
// later parts by functions.
func (g *Group) Connect(peers *transport.Peers, statuses Statuses) {
	g.peers, g.statuses = peers, statuses
	if g.opt.Turns == nil {
		g.opt.Turns = noTurns{}
	}
	connectLog(g)
	g.leader = &leaderFinder{opt: &g.opt, raft: g.raft, peers: g.peers, statuses: g.statuses, saved: g.saved}
	connectRole(g)
	connectDecider(g)
	connectForwarding(g)
	connectSuccession(g)
	connectMembers(g)
	g.saved.restore()
	g.formats.before = g.saved.formatsBefore
}

// connectLog creates what writes the log, applies it, and keeps it on disk.
func connectLog(g *Group) {
	g.proposer = propose.New(propose.Config{
		Apply: func(b []byte) raft.ApplyFuture { return g.raft.Apply(b, 0) },
		Stamp: g.clock.Stamp, Requeue: g.forwarder.Requeue, Weigh: g.opt.Store.Weigh, CountFailure: g.metrics.countFailure,
		LateAfter: max(g.opt.DecideTimeout/2, g.opt.Heartbeat), Outstanding: &g.raft.Outstanding, Rounds: g.opt.Rounds,
	})
	g.formats = &versionGate{
		Formats: fsm.NewFormats(g.opt.Additions), raft: g.raft, statuses: g.statuses, proposer: g.proposer,
	}
	g.fsm = fsm.New(fsm.Config{
		Store: g.opt.Store, Clock: g.clock, OwnID: g.proposer.ID, TakeCalls: g.proposer.TakeCalls, Knows: g.formats.Newest,
		Fail: g.opt.Fail, OnCluster: g.noteCluster,
		OnApplied: func(ops []engine.Op, results []engine.Result) { noteTaken(g.opt.Turns, ops, results) },
	})
	g.formats.fsm = g.fsm
	g.logs = raftnode.NewWatchedLog(g.opt.Disk.Logs(), g.clock.Mono, g.proposer.LateAfter)
	g.compactor = &raftnode.Compactor{Raft: g.raft, Logs: g.logs, LogBytes: g.opt.LogBytes, Log: g.log}
	g.saved = &savedState{opt: &g.opt, disk: g.opt.Disk, clock: g.clock, fsm: g.fsm, log: g.log}
}

// connectRole creates this node as a leader, with the allowance from which it decides.
func connectRole(g *Group) {
	g.allowance = allowance.New(g.opt.Store, g.fsm.Now.Load, func() int64 {
		return max(g.clock.NowOrWall(), g.fsm.Now.Load())
	})
	g.role = &leaderRole{
		opt: &g.opt, raft: g.raft, peers: g.peers, clock: g.clock, fsm: g.fsm, statuses: g.statuses, leader: g.leader,
		formats: g.formats, proposer: g.proposer, allowance: g.allowance, metrics: g.metrics, log: g.log,
	}
	g.clock.Leads = func() bool { return g.role.current.Load() != nil }
	g.allowanceSwitch = &allowanceSwitch{
		opt: &g.opt, clock: g.clock, fsm: g.fsm, formats: g.formats, role: g.role, allowance: g.allowance, log: g.log,
	}
}

// connectDecider creates the parts that decide batches, and hold and void loans.
func connectDecider(g *Group) {
	lease := func(r *leadership) decide.Lease {
		if r == nil {
			return nil
		}
		return r
	}
	g.holder = loans.New(loans.Config{
		ID: g.raft.ID, Process: fmt.Sprintf("%016x", g.proposer.ID), Ahead: g.opt.Ahead, Timeout: g.opt.DecideTimeout,
		Store: g.opt.Store, Clock: g.clock, Machine: g.fsm,
		Decide: func(b *engine.Batch) bool { return g.decider.Decide(b) },
		Serve:  func(s purses.Served) { g.decider.Serve(s) },
	})
	if g.opt.Allowance == nil {
		g.opt.Allowance = func() bool { return g.holder.Table.Ahead() > 0 }
	}
	g.decider = decide.New(decide.Config{
		Store: g.opt.Store, Clock: g.clock, Timeout: g.opt.DecideTimeout,
		Machine: g.fsm, IsTooNew: g.formats.isTooNew, AwaitsImport: g.opt.AwaitsImport, Turns: g.opt.Turns,
		Leads:       func() decide.Lease { return lease(g.role.active()) },
		AwaitLead:   func() decide.Lease { return lease(g.role.awaitActive()) },
		HearsLeader: g.leader.hears,
		Allowance:   g.allowance, Purse: g.holder, Refuses: g.proposer.Refuses, Forward: g.forwarder.Add,
		Queue: func(c *call.Call, b *engine.Batch, which []uint32) engine.Status {
			return g.allowance.Queue(g.proposer, c, b, which)
		},
		CountFailure: g.metrics.countFailure,
	})
	g.voids = &loans.Voids{
		Store: g.opt.Store, Clock: g.clock, Machine: g.fsm, Log: g.log, Term: g.role.activeTerm, Decide: g.decider.Decide,
	}
}

// connectSuccession creates the parts by which another node comes to lead in time.
func connectSuccession(g *Group) {
	g.transfers = &transfers{
		opt: &g.opt, raft: g.raft, peers: g.peers, clock: g.clock, statuses: g.statuses, leader: g.leader, role: g.role,
		proposer: g.proposer, forwarded: g.forwarded,
	}
	g.withdrawal = &withdrawal{
		opt: &g.opt, raft: g.raft, peers: g.peers, clock: g.clock, logs: g.logs, statuses: g.statuses, leader: g.leader,
		role: g.role, proposer: g.proposer, log: g.log,
	}
	g.withdrawal.began.Store(never)
	g.election = &election{opt: &g.opt, raft: g.raft, statuses: g.statuses, withdrawal: g.withdrawal, log: g.log}
	g.health = &health{
		opt: &g.opt, raft: g.raft, peers: g.peers, clock: g.clock, fsm: g.fsm, logs: g.logs, saved: g.saved,
		statuses: g.statuses, leader: g.leader, role: g.role, proposer: g.proposer,
	}
	g.health.caughtUp.Store(never)
}

// connectMembers creates what changes the members, and what reads the log's end.
func connectMembers(g *Group) {
	g.members = &membership{
		opt: &g.opt, raft: g.raft, fsm: g.fsm, statuses: g.statuses, leader: g.leader, formats: g.formats, role: g.role,
		transfers: g.transfers, log: g.log, ownProcess: g.holder.Report, changing: make(chan struct{}, 1),
		joined:  map[raft.ServerID]time.Time{},
		shorten: func() error { return g.compactor.Shorten(g.opt.Store.Bytes()) },
	}
	g.reader = &reader{fsm: g.fsm, role: g.role, statuses: g.statuses, ownStatus: g.OwnStatus}
}
