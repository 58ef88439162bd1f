package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/transport"
)

// handleJoin makes a node a member, or records its new address. It starts without a vote; promote gives it one once
// it has the state. A node that comes back under the same name without its disk is a new member and takes the old
// one's place.
func (n *Node) handleJoin(ctx context.Context, j joinRequest) error {
	if err := n.beginChange(ctx); err != nil {
		return err
	}
	defer n.endChange()
	if err := n.formats.check(j.ID, j.Member.Formats); err != nil {
		return err
	}
	vote := false
	for _, s := range n.raft.servers() {
		switch {
		case s.ID == j.ID && string(s.Address) == j.Address:
			return n.writeMember(ctx, j.ID, &j.Member)
		case s.ID == j.ID:
			vote = s.Suffrage == raft.Voter
		case nodeName(s.ID) == nodeName(j.ID):
			if err := n.replaceMember(ctx, s, j); err != nil {
				return err
			}
		case string(s.Address) == j.Address:
			return fmt.Errorf("%s is the address of the member '%s'; RAFT REMOVE it first if it is gone for good", j.Address, nodeName(s.ID))
		}
	}
	change := n.raft.AddNonvoter
	if vote {
		change = n.raft.AddVoter
	}
	if err := n.raft.await(ctx, func() error { return change(j.ID, raft.ServerAddress(j.Address), 0, changeTimeout).Error() }); err != nil {
		return err
	}
	n.log.Info("member", "id", j.ID, "address", j.Address)
	return n.writeMember(ctx, j.ID, &j.Member)
}

// replaceMember removes a member whose place a node of the same name takes. It refuses if the old one is alive: then
// two nodes have the same name.
func (n *Node) replaceMember(ctx context.Context, old raft.Server, j joinRequest) error {
	short, cancel := context.WithTimeout(ctx, transport.DialTimeout)
	defer cancel()
	if r, err := n.statuses.fetch(short, string(old.Address)); err == nil && r.ID == old.ID {
		return fmt.Errorf("the node id '%s' is in use by %s, which is alive; each node needs its own --node-id", nodeName(j.ID), old.Address)
	}
	n.log.Warn("a member has come back without its state; it joins as a new one", "id", old.ID, "new_id", j.ID)
	if err := n.raft.await(ctx, func() error { return n.raft.RemoveServer(old.ID, 0, changeTimeout).Error() }); err != nil {
		return err
	}
	return n.writeMember(ctx, old.ID, nil)
}

const changeTimeout = 5 * time.Second

// writeMember writes a member's description into the log, if it has changed.
func (n *Node) writeMember(ctx context.Context, id raft.ServerID, m *member) error {
	known, is := n.fsm.cluster.Load().Members[id]
	if m == nil && !is || m != nil && is && known == *m {
		return nil
	}
	return n.formats.propose(ctx, kindMember, memberBody{ID: id, Member: m})
}

// promote gives a vote to members that have the state, and keeps the cluster's format version, while this node leads.
func (n *Node) promote(ctx context.Context) {
	every(ctx, n.opt.MeetEvery, func() {
		if n.role.current.Load() == nil {
			return
		}
		n.updateFormats(ctx)
		for _, s := range n.raft.servers() {
			if s.Suffrage == raft.Nonvoter && n.isReady(s) {
				if err := n.giveVote(ctx, s); err != nil {
					n.log.once("vote "+string(s.ID), "a member has the state, but could not be given its vote yet", "id", s.ID, "error", err)
					continue
				}
				n.log.Info("member has the state and votes", "id", s.ID)
			}
		}
	})
}

func (n *Node) giveVote(ctx context.Context, s raft.Server) error {
	return n.change(ctx, func(ctx context.Context) error {
		return n.raft.await(ctx, func() error { return n.raft.AddVoter(s.ID, s.Address, 0, changeTimeout).Error() })
	})
}

// change runs one change of members, in its turn and within a bound of time.
func (n *Node) change(ctx context.Context, run func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, rpcTimeout)
	defer cancel()
	if err := n.beginChange(ctx); err != nil {
		return err
	}
	defer n.endChange()
	return run(ctx)
}

// beginChange waits for its turn to change members: one change at a time.
func (n *Node) beginChange(ctx context.Context) error {
	select {
	case n.changing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("another change of members is under way: %w", ctx.Err())
	}
}

func (n *Node) endChange() { <-n.changing }

// isReady reports whether a member without a vote is to have one, and has nearly all of the log.
func (n *Node) isReady(s raft.Server) bool {
	m, known := n.fsm.cluster.Load().Members[s.ID]
	r, heard := n.statuses.last(s.ID)
	return known && !m.Nonvoter && heard && n.isNearlyCaughtUp(r)
}

// isNearlyCaughtUp reports whether a node could vote at once: its Raft runs, it has applied nearly all of the
// log, and it knows the cluster's format version.
func (n *Node) isNearlyCaughtUp(r peerStatus) bool {
	return n.statuses.isAlive(r) && n.formats.check(r.ID, r.Formats) == nil && r.Applied+readyWithin >= n.fsm.applied.Load()
}

// readyWithin is the largest number of entries that a node may lack when it gets its vote; the rest arrives within
// moments.
const readyWithin = 1000

// handleAdmin executes an operator's request.
func (n *Node) handleAdmin(ctx context.Context, o adminRequest) error {
	switch o.Do {
	case "add":
		return n.addMember(ctx, o)
	case "remove":
		return n.removeMember(ctx, o.Node)
	case "transfer":
		return n.raft.await(ctx, func() error { return n.transfers.transfer(o.Node) })
	}
	return errors.New("unknown request; is this node's version older?")
}

// addMember asks the node at an address to be a member, and changes whether it is to vote.
func (n *Node) addMember(ctx context.Context, o adminRequest) error {
	short, cancel := context.WithTimeout(ctx, transport.DialTimeout)
	defer cancel()
	r, err := n.statuses.fetch(short, o.Address)
	if err != nil {
		return fmt.Errorf("the node at %s does not answer: %w", o.Address, err)
	}
	own := n.fsm.cluster.Load().ClusterID
	switch {
	case nodeName(r.ID) != o.Node:
		return fmt.Errorf("the node at %s is '%s', not '%s'", o.Address, nodeName(r.ID), o.Node)
	case r.ClusterID != "" && r.ClusterID != own:
		return fmt.Errorf("the node at %s belongs to the cluster %s; start it with an empty --dir to have it here", o.Address, r.ClusterID)
	}
	err = n.handleJoin(ctx, joinRequest{ID: r.ID, Address: o.Address, Member: member{Node: o.Node, Client: r.Client, Nonvoter: o.Nonvoter, Formats: r.Formats}})
	if err != nil || !o.Nonvoter {
		return err
	}
	for _, s := range n.raft.servers() {
		if s.ID == r.ID && s.Suffrage == raft.Voter {
			if err := n.canRemoveVoter(ctx, s.ID); err != nil {
				return err
			}
			return n.raft.await(ctx, func() error { return n.raft.DemoteVoter(s.ID, 0, changeTimeout).Error() })
		}
	}
	return nil
}

// removeMember ends a membership, unless the remaining members could not decide.
func (n *Node) removeMember(ctx context.Context, node string) error {
	s, err := n.raft.member(node)
	if err != nil {
		return err
	}
	if err := n.canRemoveVoter(ctx, s.ID); err != nil {
		return err
	}
	if s.ID == n.id {
		return n.leaveRemovalToNext(ctx)
	}
	if err := n.beginChange(ctx); err != nil {
		return err
	}
	defer n.endChange()
	if err := n.writeMember(ctx, s.ID, nil); err != nil {
		return err
	}
	n.log.Info("removed member", "id", s.ID)
	return n.raft.await(ctx, func() error { return n.raft.RemoveServer(s.ID, 0, changeTimeout).Error() })
}

// leaveRemovalToNext transfers leadership to another node, which then removes this one: errHandedOver sends the
// caller there. A leader that removed itself could not make sure that the others learn of it.
func (n *Node) leaveRemovalToNext(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if err := n.raft.await(ctx, func() error { return n.transfers.transfer("") }); err != nil {
		return fmt.Errorf("the node leads, and could not transfer leadership before its removal: %w", err)
	}
	for ctx.Err() == nil {
		moved := n.leader.changed.Wait()
		if n.leader.address() != "" {
			return errHandedOver
		}
		notifier.Pause(ctx, moved, 20*time.Millisecond) // another node's status may name the leader too
	}
	return ErrNoLeader
}

var errHandedOver = errors.New("the leader to be removed has transferred leadership: ask the next leader")

// canRemoveVoter returns an error if the remaining voters that answer and have the state would be no majority.
func (n *Node) canRemoveVoter(ctx context.Context, id raft.ServerID) error {
	useful := map[raft.ServerID]bool{n.id: true}
	for _, r := range n.statuses.fetchAll(ctx, transport.DialTimeout) {
		useful[r.ID] = n.isNearlyCaughtUp(r)
	}
	voters, answering, votes := 0, 0, false
	for _, s := range n.raft.servers() {
		switch {
		case s.Suffrage != raft.Voter:
		case s.ID == id:
			votes = true
		default:
			voters++
			if useful[s.ID] {
				answering++
			}
		}
	}
	switch {
	case !votes:
		return nil
	case voters == 0:
		return errors.New("it is the last member with a vote, and a cluster without one decides nothing")
	case answering <= voters/2:
		return fmt.Errorf("only %d of the %d remaining voters answer and have the state, which is no majority: the cluster would stop deciding", answering, voters)
	}
	return nil
}
