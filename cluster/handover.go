package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// HandOver gives leadership to another node, if this one leads and there is one to take it. Calls that come meanwhile are decided
// there. When it returns this node may be closed, and no call is lost.
func (n *Node) HandOver(ctx context.Context) error {
	if n.reign.Load() == nil {
		return nil
	}
	err := n.await(ctx, func() error { return n.transfer("") })
	if err == nil {
		n.peers.leaving.Store(true) // those who don't know of the new leader yet might come back, and lose what they send
		n.awaitLeave(ctx)
	}
	return err
}

// awaitLeave waits until another node leads, for which this one may have to vote, and all others have had their answers and
// have closed the connections over which they forwarded calls, as they do then. It gives up when they may elect somebody themselves.
func (n *Node) awaitLeave(ctx context.Context) {
	for until := n.clock.mono() + n.opt.Heartbeat; n.clock.mono() < until && ctx.Err() == nil; sleep(ctx, time.Millisecond) {
		leader, _ := n.raft.LeaderWithID()
		if leader != "" && string(leader) != n.opt.Advertise && n.links.Load() == 0 {
			return
		}
	}
}

// transfer hands leadership to a member, or to the one that is best off.
func (n *Node) transfer(node string) error {
	if node == "" {
		return n.handOver(func() raft.Future { return n.raft.LeadershipTransfer() })
	}
	s, err := n.member(node)
	switch {
	case err != nil:
		return err
	case s.ID == n.id:
		return nil
	case s.Suffrage != raft.Voter:
		return fmt.Errorf("'%s' has no vote and cannot lead", node)
	}
	return n.handOver(func() raft.Future { return n.raft.LeadershipTransferToServer(s.ID, s.Address) })
}

// handOver gives up the lease before Raft lets somebody else be elected at once. If nobody is, it is not taken up again
// before the offer, which may still be on its way, can no longer arrive.
func (n *Node) handOver(transfer func() raft.Future) error {
	r := n.reign.Load()
	if r == nil {
		return errNoLeader
	}
	n.offers.Add(1)
	defer func() {
		n.barred.Store(int64(n.clock.mono() + raftTimeout + n.opt.Heartbeat))
		n.offers.Add(-1)
	}()
	r.until.Store(0)
	r.closing.Store(true)
	n.finishEntries()
	err := transfer().Error()
	if err != nil { // it leads on, unless it has lost leadership another way
		r.closing.Store(false)
		n.forwarder.moved.ring()
	}
	return err
}

// finishEntries waits until nothing that was proposed is under way any more, but no longer than an election would take: what Raft
// has not committed when another node takes over is of unknown outcome to those who asked. New calls wait meanwhile.
func (n *Node) finishEntries() {
	const look = time.Millisecond // twice, as somebody may have been about to propose
	for idle, until := 0, n.clock.mono()+n.opt.Heartbeat; idle < 2 && n.clock.mono() < until; {
		if idle++; !n.proposer.isIdle() {
			idle = 0
		}
		sleep(n.ctx, look)
	}
}

// isIdle reports whether nothing waits to be proposed, and all that was has been carried out or has failed.
func (p *proposer) isIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue) == 0 && len(p.inFlight) == 0
}
