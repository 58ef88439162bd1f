package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/forward"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/transport"
)

// transfers transfers leadership from this node to others.
type transfers struct {
	opt       *Config
	raft      *raftnode.Node
	peers     *transport.Peers
	clock     *clock.Clock
	statuses  Statuses
	leader    *leaderFinder
	role      *leaderRole
	proposer  *propose.Proposer
	forwarded *forward.Server
}

// handOver is [Group.HandOver].
func (t *transfers) handOver(ctx context.Context) error {
	if t.role.current.Load() == nil {
		return nil
	}
	err := t.raft.Await(ctx, func() error { return t.transfer("") })
	if err == nil {
		t.peers.Leave() // nodes that do not know the new leader yet might reconnect, and lose their calls
		t.awaitSuccessor(ctx)
	}
	return err
}

// awaitSuccessor waits until another node leads, for which this one may have to vote, and until all others have
// received their answers and closed the connections over which they forwarded calls. It gives up at the time at which
// the others may start an election.
func (t *transfers) awaitSuccessor(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, t.opt.Heartbeat)
	defer cancel()
	for ctx.Err() == nil {
		leaderChanged, connEnded := t.leader.changed.Wait(), t.forwarded.ConnEnded()
		leader, _ := t.raft.LeaderWithID()
		if leader != "" && string(leader) != t.opt.Advertise && t.forwarded.Conns() == 0 {
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
func (t *transfers) transfer(node string) error {
	if node == "" {
		s, found := t.bestSuccessor()
		if !found {
			return errors.New("no other voter answers: start one, and wait until RAFT NODES has it as healthy")
		}
		return t.transferLeadership(s)
	}
	s, err := t.raft.Member(node)
	switch {
	case err != nil:
		return err
	case s.ID == t.raft.ID:
		return nil
	case s.Suffrage != raft.Voter:
		return fmt.Errorf("'%s' has no vote and cannot lead: RAFT ADD it without NONVOTER first, or transfer to another", node)
	case !t.canLead(s):
		return fmt.Errorf("'%s' does not answer, or lacks entries of the log, and cannot lead yet: wait until RAFT NODES has it as healthy, or transfer to another", node)
	}
	return t.transferLeadership(s)
}

// bestSuccessor returns the voter that is most suitable to lead in place of this node: the one with the longest log
// among the voters that have answered within the heartbeat timeout, and one with a slow disk only if there is no other.
// Raft by itself might choose a node that is down.
func (t *transfers) bestSuccessor() (best raft.Server, found bool) {
	var most uint64
	bestIsSlow := false
	for _, s := range t.raft.Servers() {
		match, heard := t.raft.ProgressOf(s)
		if s.ID == t.raft.ID || s.Suffrage != raft.Voter || !heard {
			continue
		}
		r, _ := t.statuses.Last(s.ID)
		isSlow := t.statuses.IsFresh(r) && (r.Gone || r.Slow)
		if !found || bestIsSlow && !isSlow || bestIsSlow == isSlow && match > most {
			best, most, bestIsSlow, found = s, match, isSlow, true
		}
	}
	return best, found
}

// canLead reports whether another node answers and has nearly all of the log.
func (t *transfers) canLead(s raft.Server) bool {
	match, heard := t.raft.ProgressOf(s)
	return heard && match+readyWithin >= t.raft.LastIndex()
}

// transferWhenCaughtUp transfers leadership once the target has all of the log. Raft would first send the entries that
// the target lacks; if the target did not take them, Raft would never accept an entry again.
func (t *transfers) transferWhenCaughtUp(s raft.Server) error {
	ctx, cancel := context.WithTimeout(t.raft.Ctx, t.opt.Heartbeat)
	defer cancel()
	for {
		reached := t.raft.Transport.Follower(s.ID).Reached()
		if match, heard := t.raft.ProgressOf(s); heard && match >= t.raft.LastIndex() {
			return t.raft.LeadershipTransferToServer(s.ID, s.Address).Error()
		}
		select {
		case <-reached:
		case <-ctx.Done():
			return fmt.Errorf("'%s' has not got the last entries of the log in time: wait until RAFT NODES has it as healthy, or transfer to another", raftnode.NodeName(s.ID))
		}
	}
}

// transferLeadership gives up the lease before Raft lets another node be elected, and writes the time into the log, so
// that no answer of the next leader shows an earlier time than an answer given under this lease. If the transfer fails,
// the lease is taken up again only when the offer can no longer arrive.
func (t *transfers) transferLeadership(to raft.Server) error {
	r := t.role.current.Load()
	if r == nil {
		return ErrNoLeader
	}
	t.role.offers.Add(1)
	defer func() {
		t.role.leaseBarredUntil.Store(int64(t.clock.Mono() + raftnode.MessageTimeout + t.opt.Heartbeat))
		t.role.offers.Add(-1)
	}()
	r.leaseUntil.Store(0)
	r.transferring.Store(true)
	t.proposer.AddOther(fsm.KindTick, nil)
	t.awaitProposed((*propose.Proposer).IsIdle)
	t.proposer.Pause() // a call that was about to be queued may still come: the next leader decides it
	defer t.proposer.Resume()
	t.awaitProposed((*propose.Proposer).HasNoneInFlight)
	err := t.transferWhenCaughtUp(to)
	if err != nil { // this node still leads, unless it has lost leadership in another way
		r.transferring.Store(false)
		t.leader.changed.Broadcast()
	}
	return err
}

// awaitProposed waits until the proposer is done, but no longer than an election would take: entries that Raft has not
// committed when another node takes over have an unknown outcome for their clients.
func (t *transfers) awaitProposed(done func(p *propose.Proposer) bool) {
	until := t.clock.Mono() + t.opt.Heartbeat
	for !done(t.proposer) && t.clock.Mono() < until && t.raft.Ctx.Err() == nil {
		clock.Sleep(t.raft.Ctx, time.Millisecond)
	}
}
