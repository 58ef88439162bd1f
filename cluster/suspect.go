package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// Raft alone looks for a silent leader when a timer of one to two heartbeat timeouts fires, and if it then was silent for
// less than one, once more as much later. A majority has to have looked before anybody is elected, and if the first to ask
// for votes has the longer log it is refused, and waits another one to two timeouts before it asks again. All that adds up to
// three times the timeout, and more. So a node that has not heard of the leader for half of it asks the others how they
// are, and they agree on an order without another word: each looks when the timeout is over for all of them, one shortly
// behind the other, who has the longest log last, for by then the others grant their votes. Nobody looks sooner than
// Raft may: votes are still refused until the timeout is over, on which the lease rests.

// suspect has this node look for the leader at the best time.
func (n *Node) suspect(ctx context.Context) {
	var dealtWith time.Time // the last contact for which it was done
	for ctx.Err() == nil {
		last := n.raft.LastContact()
		if n.raft.State() != raft.Follower || last.IsZero() || last.Equal(dealtWith) {
			sleep(ctx, n.opt.Heartbeat/4)
			continue
		}
		if wait := n.opt.Heartbeat/2 - time.Since(last); wait > 0 {
			sleep(ctx, wait)
			continue
		}
		at, suspected := n.timeToLook(last, n.askAll(ctx, n.opt.Heartbeat/4))
		sleep(ctx, time.Until(at))
		if suspected && n.raft.LastContact().Equal(last) && n.raft.State() == raft.Follower {
			n.look()
		}
		dealtWith = last
	}
}

// timeToLook is when this node is to look whether the leader is still there, having heard of it last at a time, by what the
// others say. It is none of its business while they do hear of it: Raft's own timer will do.
func (n *Node) timeToLook(last time.Time, others []report) (at time.Time, suspected bool) {
	order := []report{{ID: n.id, Last: n.raft.LastIndex()}}
	voters := n.servers()
	for _, r := range others {
		if r.Leads || !slices.ContainsFunc(voters, func(s raft.Server) bool { return s.ID == r.ID && s.Suffrage == raft.Voter }) {
			continue
		}
		if r.Silent < n.opt.Heartbeat/4 {
			return last, false
		}
		if heard := time.Now().Add(-r.Silent); heard.After(last) {
			last = heard
		}
		order = append(order, r)
	}
	slices.SortFunc(order, func(a, b report) int { return cmp.Or(cmp.Compare(a.Last, b.Last), cmp.Compare(a.ID, b.ID)) })
	place := slices.IndexFunc(order, func(r report) bool { return r.ID == n.id })
	return last.Add(n.opt.Heartbeat + time.Duration(place)*n.opt.Heartbeat/lookApart), true
}

// lookApart is into how many parts the heartbeat timeout is divided by those who look after each other: longer apart than it takes
// to ask for a vote, so that two don't vote for themselves.
const lookApart = 10

// look has Raft look for the leader now: it does when its timeout is made shorter, be it by nothing.
func (n *Node) look() {
	for _, timeout := range []time.Duration{n.opt.Heartbeat - 1, n.opt.Heartbeat} {
		err := n.retune(func(c *raft.ReloadableConfig) { c.HeartbeatTimeout = timeout })
		if err != nil {
			n.log.Error("the heartbeat timeout cannot be set", "error", err)
		}
	}
}

// retune changes Raft's settings while it runs.
func (n *Node) retune(change func(*raft.ReloadableConfig)) error {
	n.tuning.Lock()
	defer n.tuning.Unlock()
	config := n.raft.ReloadableConfig()
	change(&config)
	return n.raft.ReloadConfig(config)
}
