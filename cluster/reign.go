package cluster

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// reign is this node's time as leader, from when its state holds all that was acknowledged before.
type reign struct {
	term  uint64
	until atomic.Int64 // of the lease, on the monotonic clock
	// closing is set while leadership is handed over: what comes waits, and is decided by whoever leads then.
	closing atomic.Bool
}

// holds reports whether nobody else can lead at a time on the monotonic clock.
func (r *reign) holds(now time.Duration) bool { return int64(now) < r.until.Load() }

// The lease is half of the time that followers wait at least before they elect another leader, counted from before they
// were asked; it is renewed six times as often as that. The other half is for clocks that run at different speeds.
func (n *Node) leaseTime() time.Duration    { return n.opt.Heartbeat / 2 }
func (n *Node) renewalEvery() time.Duration { return n.opt.Heartbeat / 6 }

// followLeadership begins and ends reigns as Raft says.
func (n *Node) followLeadership(ctx context.Context) {
	stop := func() {}
	defer func() { stop() }()
	for {
		select {
		case leads := <-n.raft.LeaderCh():
			stop()
			stop = func() {}
			n.abdicate()
			if leads {
				reigning, cancel := context.WithCancel(ctx)
				ended := make(chan struct{})
				stop = func() { cancel(); <-ended }
				go func() {
					defer close(ended)
					n.lead(reigning)
				}()
			}
		case <-ctx.Done():
			return
		}
	}
}

// abdicate stops this node from deciding.
func (n *Node) abdicate() {
	if r := n.reign.Swap(nil); r != nil {
		r.until.Store(0)
		n.noteLeader(n.opt.Advertise)
		n.log.Info("no longer the leader", "term", r.term)
	}
	n.forwarder.moved.ring()
}

// lead keeps the lease while this node is the leader of a term. A term that has changed unnoticed begins another reign.
func (n *Node) lead(ctx context.Context) {
	for ctx.Err() == nil {
		term := n.raft.CurrentTerm()
		if !n.takeOver(ctx, term) {
			sleep(ctx, n.renewalEvery())
			continue
		}
		for ctx.Err() == nil && n.raft.CurrentTerm() == term {
			n.renew(ctx, term)
			sleep(ctx, n.renewalEvery())
		}
		n.abdicate()
	}
}

// takeOver waits until the state holds everything committed in earlier terms, and begins to decide.
func (n *Node) takeOver(ctx context.Context, term uint64) bool {
	if err := n.await(ctx, func() error { return n.raft.Barrier(0).Error() }); err != nil || n.raft.CurrentTerm() != term || n.peers.muted.Load() {
		return false
	}
	if !n.clock.isLive() {
		n.agreeOnTime(ctx)
		n.clock.trust()
	}
	if err := n.nameCluster(ctx); err != nil {
		return false
	}
	n.counts.leaderChanges.Add(1)
	r := &reign{term: term}
	n.reign.Store(r)
	if n.peers.muted.Load() || ctx.Err() != nil {
		n.abdicate()
		return false
	}
	n.log.Info("leader", "term", term)
	n.forwarder.moved.ring()
	return true
}

// deciding is this node's reign, nil while it has none or is giving it to another.
func (n *Node) deciding() *reign {
	if r := n.reign.Load(); r != nil && !r.closing.Load() {
		return r
	}
	return nil
}

// comingReign is this node's reign, for which it waits a moment if it has been elected, as others know of that before it has
// begun to decide, or if it is handing over, as others don't know yet to whom: they would only ask again. It is nil on a node that does not lead.
func (n *Node) comingReign() *reign {
	for until := n.clock.mono() + n.opt.Heartbeat; ; {
		moved := n.forwarder.moved.rings()
		r, left := n.deciding(), until-n.clock.mono()
		if r != nil || left <= 0 || n.raft.State() != raft.Leader || n.peers.muted.Load() || n.ctx.Err() != nil {
			return r
		}
		pause(n.ctx, moved, left)
	}
}

// renew asks a majority whether this node still leads, and extends the lease from before it asked.
func (n *Node) renew(ctx context.Context, term uint64) {
	asked := n.clock.mono()
	if err := n.await(ctx, func() error { return n.raft.VerifyLeader().Error() }); err != nil {
		return
	}
	if r := n.reign.Load(); r != nil && r.term == term && n.raft.CurrentTerm() == term {
		r.until.Store(int64(asked + n.leaseTime()))
		if n.offers.Load() > 0 || n.barred.Load() > int64(asked) { // looked at last, as it may have been set meanwhile
			r.until.Store(0)
		}
	}
}

// await runs f, which asks Raft something and takes as long as it takes, and returns early when ctx is done. Nothing is
// asked any more once the node is being ended.
func (n *Node) await(ctx context.Context, f func() error) error {
	n.mu.Lock()
	if n.ending {
		n.mu.Unlock()
		return raft.ErrRaftShutdown
	}
	n.asked.Add(1)
	n.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		defer n.asked.Done()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// agreeOnTime makes the most cautious time that reachable nodes know of this node's, when all it has is a guess from before
// it was started: its own clock may have been set meanwhile. Without any other's word the time that this node was down
// does not count.
func (n *Node) agreeOnTime(ctx context.Context) {
	applied := n.fsm.now.Load()
	if applied == 0 || len(n.servers()) == 1 {
		return
	}
	heard, members := false, n.servers()
	for _, told := range n.askAll(ctx, 300*time.Millisecond) {
		if told.Now > 0 && slices.ContainsFunc(members, func(s raft.Server) bool { return s.ID == told.ID }) {
			n.clock.holdBack(max(told.Now, applied))
			heard = true
		}
	}
	if !heard {
		n.clock.holdBack(applied)
	}
}
