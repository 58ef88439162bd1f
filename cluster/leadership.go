package cluster

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/notifier"
)

// leadership is one term of this node as leader. It begins once the state contains everything acknowledged before.
type leadership struct {
	term       uint64
	leaseUntil atomic.Int64 // of the lease, on the monotonic clock
	// transferring is set while leadership is transferred: new calls wait, and the next leader decides them.
	transferring atomic.Bool
}

// hasLease reports whether no other node can lead at a time on the monotonic clock.
func (r *leadership) hasLease(now time.Duration) bool { return int64(now) < r.leaseUntil.Load() }

// The lease lasts half of the time that followers wait, at least, before they elect another leader. It is counted
// from before they were asked, and renewed three times within its duration. The other half is a margin for clocks
// that run at different speeds.
func (n *Node) leaseDuration() time.Duration { return n.opt.Heartbeat / 2 }
func (n *Node) leaseRenewal() time.Duration  { return n.opt.Heartbeat / 6 }

// followLeadership starts and ends this node's leadership as Raft reports it.
func (n *Node) followLeadership(ctx context.Context) {
	stop := func() {}
	defer func() { stop() }()
	for {
		select {
		case leads := <-n.raft.LeaderCh():
			stop()
			stop = func() {}
			n.stepDown()
			if leads {
				leading, cancel := context.WithCancel(ctx)
				ended := make(chan struct{})
				stop = func() { cancel(); <-ended }
				go func() {
					defer close(ended)
					n.lead(leading)
				}()
			}
		case <-ctx.Done():
			return
		}
	}
}

// stepDown stops this node from deciding.
func (n *Node) stepDown() {
	if r := n.leadership.Swap(nil); r != nil {
		r.leaseUntil.Store(0)
		n.leader.note(n.opt.Advertise)
		n.log.Info("no longer the leader", "term", r.term)
	}
	n.leader.changed.Broadcast()
}

// lead renews the lease while this node is the leader of a term. If the term has changed unnoticed, a new leadership
// begins.
func (n *Node) lead(ctx context.Context) {
	for ctx.Err() == nil {
		term := n.raft.CurrentTerm()
		if !n.becomeLeader(ctx, term) {
			sleep(ctx, n.leaseRenewal())
			continue
		}
		for ctx.Err() == nil && n.raft.CurrentTerm() == term {
			n.renewLease(ctx, term)
			sleep(ctx, n.leaseRenewal())
		}
		n.stepDown()
	}
}

// becomeLeader waits until the state contains everything committed in earlier terms, and starts to decide.
func (n *Node) becomeLeader(ctx context.Context, term uint64) bool {
	if err := n.raft.await(ctx, func() error { return n.raft.Barrier(0).Error() }); err != nil || n.raft.CurrentTerm() != term || n.peers.IsIsolated() {
		return false
	}
	if !n.clock.isConfirmed() {
		n.syncClock(ctx)
		n.clock.confirm()
	}
	if err := n.assignClusterID(ctx); err != nil {
		return false
	}
	n.metrics.leaderChanges.Add(1)
	r := &leadership{term: term}
	n.leadership.Store(r)
	if n.peers.IsIsolated() || ctx.Err() != nil {
		n.stepDown()
		return false
	}
	n.log.Info("leader", "term", term)
	n.proposer.addOther(kindTick, nil) // Raft's no-op of this term is not applied; this entry shows that it is committed
	n.leader.changed.Broadcast()
	return true
}

// activeLeadership returns this node's leadership, or nil if it has none or is transferring it.
func (n *Node) activeLeadership() *leadership {
	if r := n.leadership.Load(); r != nil && !r.transferring.Load() {
		return r
	}
	return nil
}

// awaitLeadership returns this node's leadership, or nil on a node that does not lead. It waits up to one heartbeat
// timeout while leadership is being taken up or transferred, so that callers need not retry.
func (n *Node) awaitLeadership() *leadership {
	for until := n.clock.mono() + n.opt.Heartbeat; ; {
		moved := n.leader.changed.Wait()
		r, left := n.activeLeadership(), until-n.clock.mono()
		if r != nil || left <= 0 || n.raft.State() != raft.Leader || n.peers.IsIsolated() || n.raft.ctx.Err() != nil {
			return r
		}
		notifier.Pause(n.raft.ctx, moved, left)
	}
}

// renewLease asks a majority whether this node still leads, and extends the lease from the time before it asked.
func (n *Node) renewLease(ctx context.Context, term uint64) {
	asked := n.clock.mono()
	if err := n.raft.await(ctx, func() error { return n.raft.VerifyLeader().Error() }); err != nil {
		return
	}
	if r := n.leadership.Load(); r != nil && r.term == term && n.raft.CurrentTerm() == term {
		r.leaseUntil.Store(int64(asked + n.leaseDuration()))
		if n.offers.Load() > 0 || n.leaseBarredUntil.Load() > int64(asked) { // read last: it may just have been set
			r.leaseUntil.Store(0)
		}
	}
}

// syncClock lowers this node's clock to the earliest time reported by reachable members. It runs when the clock was
// only restored from disk: this node's own clock may have been set while it was down. If no member answers, the time
// that this node was down does not count.
func (n *Node) syncClock(ctx context.Context) {
	applied := n.fsm.now.Load()
	if applied == 0 || len(n.raft.servers()) == 1 {
		return
	}
	heard, members := false, n.raft.servers()
	for _, told := range n.statuses.fetchAll(ctx, 300*time.Millisecond) {
		if told.Now > 0 && slices.ContainsFunc(members, func(s raft.Server) bool { return s.ID == told.ID }) {
			n.clock.capAt(max(told.Now, applied))
			heard = true
		}
	}
	if !heard {
		n.clock.capAt(applied)
	}
}
