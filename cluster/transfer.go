package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// HandOver transfers leadership to another node, if this one leads and another can. Calls that arrive during the
// transfer are decided by the new leader. After HandOver this node may be closed, and no call is lost.
func (n *Node) HandOver(ctx context.Context) error {
	if n.leadership.Load() == nil {
		return nil
	}
	err := n.raft.await(ctx, func() error { return n.transfer("") })
	if err == nil {
		n.peers.Leave() // nodes that do not know the new leader yet might reconnect, and lose their calls
		n.awaitSuccessor(ctx)
	}
	return err
}

// awaitSuccessor waits until another node leads, for which this one may have to vote, and until all others have
// received their answers and closed the connections over which they forwarded calls. It gives up when the others may
// start an election.
func (n *Node) awaitSuccessor(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, n.opt.Heartbeat)
	defer cancel()
	for ctx.Err() == nil {
		leaderChanged, connEnded := n.leader.changed.Wait(), n.forwarded.ConnEnded()
		leader, _ := n.raft.LeaderWithID()
		if leader != "" && string(leader) != n.opt.Advertise && n.forwarded.Conns() == 0 {
			return
		}
		select {
		case <-leaderChanged:
		case <-connEnded:
		case <-ctx.Done():
		}
	}
}

// transfer transfers leadership to a member, or with "" to the most suitable one.
func (n *Node) transfer(node string) error {
	if node == "" {
		s, found := n.bestSuccessor()
		if !found {
			return errors.New("no other voter answers")
		}
		return n.transferLeadership(s)
	}
	s, err := n.raft.member(node)
	switch {
	case err != nil:
		return err
	case s.ID == n.id:
		return nil
	case s.Suffrage != raft.Voter:
		return fmt.Errorf("'%s' has no vote and cannot lead", node)
	case !n.canLead(s):
		return fmt.Errorf("'%s' does not answer, or lacks entries of the log, and cannot lead yet", node)
	}
	return n.transferLeadership(s)
}

// bestSuccessor returns the voter that is most suitable to lead in place of this node: among those that have answered
// within the heartbeat timeout the one with the longest log; one with a slow disk only if there is no other. Raft
// alone might choose a node that is down.
func (n *Node) bestSuccessor() (best raft.Server, found bool) {
	var most uint64
	bestIsSlow := false
	for _, s := range n.raft.servers() {
		match, heard := n.raft.progressOf(s)
		if s.ID == n.id || s.Suffrage != raft.Voter || !heard {
			continue
		}
		r, _ := n.statuses.last(s.ID)
		isSlow := n.statuses.isFresh(r) && (r.Gone || r.Slow)
		if !found || bestIsSlow && !isSlow || bestIsSlow == isSlow && match > most {
			best, most, bestIsSlow, found = s, match, isSlow, true
		}
	}
	return best, found
}

// canLead reports whether another node answers and has nearly all of the log.
func (n *Node) canLead(s raft.Server) bool {
	match, heard := n.raft.progressOf(s)
	return heard && match+readyWithin >= n.raft.LastIndex()
}

// transferWhenCaughtUp has Raft transfer leadership once the target has all of the log. To a target that lacks
// entries Raft would send them first; if the target did not take them, Raft would never accept an entry again.
func (n *Node) transferWhenCaughtUp(s raft.Server) error {
	ctx, cancel := context.WithTimeout(n.raft.ctx, n.opt.Heartbeat)
	defer cancel()
	for {
		reached := n.raft.transport.Follower(s.ID).Reached()
		if match, heard := n.raft.progressOf(s); heard && match >= n.raft.LastIndex() {
			return n.raft.LeadershipTransferToServer(s.ID, s.Address).Error()
		}
		select {
		case <-reached:
		case <-ctx.Done():
			return fmt.Errorf("'%s' has not got the last entries of the log in time", nodeName(s.ID))
		}
	}
}

// transferLeadership gives up the lease before Raft has another node elected. If the transfer fails, the lease is not
// taken up again before the offer can no longer arrive.
func (n *Node) transferLeadership(to raft.Server) error {
	r := n.leadership.Load()
	if r == nil {
		return ErrNoLeader
	}
	n.offers.Add(1)
	defer func() {
		n.leaseBarredUntil.Store(int64(n.clock.mono() + raftTimeout + n.opt.Heartbeat))
		n.offers.Add(-1)
	}()
	r.leaseUntil.Store(0)
	r.transferring.Store(true)
	n.drainEntries()
	err := n.transferWhenCaughtUp(to)
	if err != nil { // it still leads, unless it has lost leadership in another way
		r.transferring.Store(false)
		n.leader.changed.Broadcast()
	}
	return err
}

// drainEntries waits until no proposed entry is in flight, but no longer than an election would take: entries that
// Raft has not committed when another node takes over have an unknown outcome for their clients. New calls wait.
func (n *Node) drainEntries() {
	const look = time.Millisecond // twice: a goroutine may have been about to propose
	for idle, until := 0, n.clock.mono()+n.opt.Heartbeat; idle < 2 && n.clock.mono() < until; {
		if idle++; !n.proposer.isIdle() {
			idle = 0
		}
		sleep(n.raft.ctx, look)
	}
}

// isIdle reports whether nothing waits to be proposed, and every proposed entry was applied or has failed.
func (p *proposer) isIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue) == 0 && len(p.inFlight) == 0
}
