// Package remote lets a node use a Raft group of which it has no replica.
package remote

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/forward"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
)

// Group is a group of which this node has no replica. It decides nothing from memory and knows no key, but asks the
// leader that the statuses of other nodes name.
type Group struct {
	opt      group.Config
	clock    *clock.Clock
	statuses Statuses

	forwarder *forward.Client
	pending   call.WaitList
	counts    counts

	changed  notifier.Notifier // broadcasts when the statuses name another leader
	last     atomic.Pointer[group.MemberStatus]
	fetching atomic.Bool

	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// Statuses are the statuses of the group's members.
type Statuses interface {
	group.Statuses
	// Leader returns the status of the node that reports to lead, in the highest term; false while no node does.
	Leader() (group.MemberStatus, bool)
}

// New returns a group that has not been started.
func New(c group.Config, peers *transport.Peers, statuses Statuses) *Group {
	r := &Group{opt: c, clock: clock.New(c.Wall), statuses: statuses, forwarder: forward.NewClient()}
	f := r.forwarder
	f.LeaderChanged, f.ObserveTime, f.Grace, f.Leader = &r.changed, func(int64) {}, c.Heartbeat/2, r.leader
	f.Patience, f.Leads = group.Patience(c.DecideTimeout), func() bool { return false }
	f.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		return peers.DialCalls(ctx, address, c.Number)
	}
	f.Fail = func(c *call.Call, status engine.Status) { r.count(c.Fail(status)) }
	f.Decide = func(*call.Call) bool { return false }
	return r
}

// Start forwards calls until Close, or the end of ctx.
func (r *Group) Start(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	r.ended.Go(func() { r.forwarder.Run(ctx) })
	r.pending.Expire(ctx, &r.ended, r.opt.DecideTimeout, r.clock.Mono, func(c *call.Call) {
		r.count(c.Fail(engine.NoLeader))
	})
	clock.Every(ctx, &r.ended, r.opt.Heartbeat/6, r.follow)
}

// Close ends the forwarding, and answers all calls.
func (r *Group) Close() {
	r.cancel()
	r.ended.Wait()
	for _, c := range r.pending.Close() {
		r.count(c.Fail(engine.NoLeader))
	}
}

// follow notices when the leader changes. While calls wait, it asks all nodes.
func (r *Group) follow(ctx context.Context) {
	if l, known := r.statuses.Leader(); known {
		if last := r.last.Swap(&l); last == nil || last.Address != l.Address {
			r.changed.Broadcast()
		}
	}
	began, waits := r.pending.Oldest()
	isLate := waits && r.clock.Mono()-began >= r.opt.Heartbeat/6
	if (isLate || r.forwarder.GivenUp.Swap(0) > 0) && r.fetching.CompareAndSwap(false, true) {
		r.ended.Go(func() {
			defer r.fetching.Store(false)
			r.statuses.FetchAll(ctx, r.opt.MeetEvery)
		})
	}
}

// leader returns the address of the presumed leader; "" if it is unknown.
func (r *Group) leader() string {
	l, _ := r.statuses.Leader()
	return l.Address
}

// Decide is [group.Group.Decide].
func (r *Group) Decide(b *engine.Batch) (finished bool) {
	c := &call.Call{Batch: b, Began: r.clock.Mono()}
	status := c.Pack()
	if status == engine.OK && !r.forwarder.Add(c) {
		status = engine.Overloaded
	}
	if status != engine.OK {
		c.FillError(status)
		return true
	}
	if r.pending.Add(c) {
		return false
	}
	status = c.FailUnpublished(engine.NoLeader)
	r.count(status)
	return status != engine.OK
}

// Leads is [group.Group.Leads]: this node never does.
func (r *Group) Leads() (leads bool, client string) {
	l, _ := r.statuses.Leader()
	return false, l.Client
}

// LeaderStatus returns the status of the leader, or of the last known leader while there is none.
func (r *Group) LeaderStatus() (l group.MemberStatus, leads bool) {
	if l, leads = r.statuses.Leader(); !leads {
		if last := r.last.Load(); last != nil {
			l = *last
		}
	}
	return l, leads
}

// Remove is [group.Group.Remove].
func (r *Group) Remove(ctx context.Context, node string, again bool) error {
	return r.ask(ctx, group.AdminRequest{Do: "remove", Node: node, Again: again})
}

// Transfer is [group.Group.Transfer].
func (r *Group) Transfer(ctx context.Context, node string) error {
	return r.ask(ctx, group.AdminRequest{Do: "transfer", Node: node})
}

func (r *Group) ask(ctx context.Context, o group.AdminRequest) error {
	return group.Ask(r.leader(), func(address string) (group.Response, error) {
		return r.statuses.Ask(ctx, address, group.Request{Admin: &o})
	})
}

// counts counts the calls that got no answer.
type counts struct{ uncertain, noLeader atomic.Int64 }

// Counts returns how many calls were forwarded since the start, and how many had an uncertain outcome or found no
// leader.
func (r *Group) Counts() (forwarded, uncertain, noLeader int64) {
	return r.forwarder.Forwarded.Load(), r.counts.uncertain.Load(), r.counts.noLeader.Load()
}

func (r *Group) count(status engine.Status) {
	switch status {
	case engine.Uncertain:
		r.counts.uncertain.Add(1)
	case engine.NoLeader:
		r.counts.noLeader.Add(1)
	}
}
