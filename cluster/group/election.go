package group

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/raftnode"
)

// Raft by itself checks for a silent leader when a timer of one to two heartbeat timeouts fires. If the silence was
// shorter than one timeout, it waits as long again. A majority must have noticed the silence before a node can be
// elected, and a candidate whose log is shorter than another's is refused and waits for its own timer. All this adds up
// to three timeouts and more. So after half a timeout of silence a node asks the others for their status, and all of
// them compute the same order from the answers: when the timeout is over for all, they check the leader shortly one
// after the other, the longest log last, and among equal logs the slow nodes first. By then the others grant their
// votes. No node checks earlier than Raft permits: votes are refused until the timeout is over, and the lease rests on
// that.

// election hastens the election of a leader after a silence of the last one.
type election struct {
	opt        *Config
	raft       *raftnode.Node
	statuses   Statuses
	withdrawal *withdrawal
	dealtWith  time.Time // the last contact after which look has checked the leader
	log        *oncelog.Log
}

// look makes this node check a silent leader at the best moment.
func (e *election) look(ctx context.Context) (pause time.Duration) {
	last := e.raft.LastContact()
	if e.raft.State() != raft.Follower || last.IsZero() || last.Equal(e.dealtWith) {
		return e.opt.Heartbeat / 2 // a later contact is not dealt with sooner
	}
	if wait := e.opt.Heartbeat/2 - time.Since(last); wait > 0 {
		return wait
	}
	at, suspected := e.checkTime(last, e.statuses.FetchAll(ctx, e.opt.Heartbeat/4))
	clock.Sleep(ctx, time.Until(at))
	if suspected && e.raft.LastContact().Equal(last) && e.raft.State() == raft.Follower {
		e.checkLeaderNow()
	}
	e.dealtWith = last
	return 0
}

// checkTime returns when this node has to check its leader, given its own last contact and the statuses of the others.
// It returns false while another node still has contact: then Raft's own timer suffices.
func (e *election) checkTime(last time.Time, others []MemberStatus) (at time.Time, suspected bool) {
	order := []MemberStatus{{ID: e.raft.ID, Last: e.raft.LastIndex(), Slow: e.withdrawal.isSlow()}}
	voters := e.raft.Servers()
	for _, r := range others {
		isReporter := func(s raft.Server) bool { return s.ID == r.ID && s.Suffrage == raft.Voter }
		if r.Leads || !slices.ContainsFunc(voters, isReporter) {
			continue
		}
		if r.Silent < e.opt.Heartbeat/4 {
			return last, false
		}
		if heard := time.Now().Add(-r.Silent - time.Since(r.At)); heard.After(last) {
			last = heard
		}
		order = append(order, r)
	}
	slices.SortFunc(order, func(a, b MemberStatus) int {
		return cmp.Or(cmp.Compare(a.Last, b.Last), compareBools(b.Slow, a.Slow), cmp.Compare(a.ID, b.ID))
	})
	place := slices.IndexFunc(order, func(r MemberStatus) bool { return r.ID == e.raft.ID })
	return last.Add(e.opt.Heartbeat + time.Duration(place)*e.opt.Heartbeat/electionStagger), true
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// electionStagger divides the heartbeat timeout: the nodes check their leader one such part apart. This is longer than
// a vote takes, so that two nodes do not both vote for themselves.
const electionStagger = 10

// checkLeaderNow makes Raft check its leader: reloading a timeout that is 1 ns shorter resets the timer, which then
// fires.
func (e *election) checkLeaderNow() {
	for _, timeout := range []time.Duration{e.opt.Heartbeat - 1, e.opt.Heartbeat} {
		err := e.raft.Reload(func(c *raft.ReloadableConfig) { c.HeartbeatTimeout = timeout })
		if err != nil {
			e.log.Error("the heartbeat timeout cannot be set", "error", err)
		}
	}
}
