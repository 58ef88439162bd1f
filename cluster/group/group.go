// Package group is one Raft group on one of its nodes: everything that decides by one log. The machine gives it
// connections to other nodes, and the statuses of these.
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
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/transport"
)

// Group is one Raft group on this node: a log, and everything that decides by it. It connects its parts, which do not
// know it, and has the methods for clients and for the machine.
//
// New returns a group, Connect gives it the machine's parts, Start starts it, and Halt and Close end it.
type Group struct {
	opt   Config
	log   *oncelog.Log
	clock *clock.Clock

	raft     *raftnode.Node
	logs     *raftnode.WatchedLog
	peers    *transport.Peers // the machine's connections to other nodes
	statuses Statuses         // of other nodes, which the machine keeps
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

// New returns a group that does nothing yet. It ends with ctx, or with [Group.Halt].
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
		Machine: g.fsm, Logs: g.logs, Stable: g.opt.Disk.Stable(), Snapshots: g.opt.Disk.Snapshots(),
		Messenger: messenger, Observe: g.leader.observe, Beats: g.opt.Beats, Slices: g.opt.Slices,
		Latency: g.proposer.EntryLatency,
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
	// These also have a step whenever the leader changes, or is lost.
	for _, step := range []func(context.Context) time.Duration{
		g.role.look, g.election.look, g.health.look, g.holder.Tend, g.allowanceSwitch.look,
		g.withdrawal.watchDisk, g.withdrawal.watchEntries,
	} {
		g.leader.changed.Call(clock.Repeat(g.raft.Ctx, &g.ended, step).Now)
	}
	g.decider.Start(g.raft.Ctx, &g.ended)
}

// Halt ends all deciding, while the connections to other nodes still stand.
func (g *Group) Halt() {
	g.role.current.Store(nil)
	g.cancel()
	g.proposer.Halt()
	g.raft.LetAnswer(&g.proposer.Ended)
}

// ShutDown ends the group's Raft, once no new connections are made.
func (g *Group) ShutDown() error { return g.raft.ShutDown() }

// Close ends the group, after the machine has closed all connections. [Group.HandOver] before Halt spares clients the
// wait for an election.
func (g *Group) Close() error {
	err := g.raft.Transport.Close()
	g.ended.Wait()
	g.proposer.Ended.Wait()
	g.decider.Close()
	return err
}
