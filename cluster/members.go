package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// servers is the cluster's configuration as this node's log has it.
func (n *Node) servers() []raft.Server {
	f := n.raft.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// admit makes a node a member, or notes its new address. It begins without a vote; promote gives it one once it has the
// state. A node that was a member under the same name but has lost its disk is a new one, and takes the old one's place.
func (n *Node) admit(ctx context.Context, j joinRequest) error {
	if err := n.beginChange(ctx); err != nil {
		return err
	}
	defer n.endChange()
	vote := false
	for _, s := range n.servers() {
		switch {
		case s.ID == j.ID && string(s.Address) == j.Address:
			return n.note(ctx, j.ID, &j.Member)
		case s.ID == j.ID:
			vote = s.Suffrage == raft.Voter
		case nodeName(s.ID) == nodeName(j.ID):
			if err := n.replace(ctx, s, j); err != nil {
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
	if err := n.await(ctx, func() error { return change(j.ID, raft.ServerAddress(j.Address), 0, changeTimeout).Error() }); err != nil {
		return err
	}
	n.log.Info("member", "id", j.ID, "address", j.Address)
	return n.note(ctx, j.ID, &j.Member)
}

// replace removes a member whose place a node of the same name takes, unless it is alive: then two nodes were given one name.
func (n *Node) replace(ctx context.Context, old raft.Server, j joinRequest) error {
	short, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if r, err := n.askReport(short, string(old.Address)); err == nil && r.ID == old.ID {
		return fmt.Errorf("the node id '%s' is in use by %s, which is alive; each node needs its own --node-id", nodeName(j.ID), old.Address)
	}
	n.log.Warn("a member has come back without its state; it joins as a new one", "id", old.ID, "new_id", j.ID)
	if err := n.await(ctx, func() error { return n.raft.RemoveServer(old.ID, 0, changeTimeout).Error() }); err != nil {
		return err
	}
	return n.note(ctx, old.ID, nil)
}

const changeTimeout = 5 * time.Second

// note writes into the log what is known of a member, if that has changed.
func (n *Node) note(ctx context.Context, id raft.ServerID, m *member) error {
	known, is := n.fsm.known.Load().Members[id]
	if m == nil && !is || m != nil && is && known == *m {
		return nil
	}
	return n.write(ctx, kindMember, memberBody{ID: id, Member: m})
}

// write has an entry about the cluster itself written into the log, and waits for that.
func (n *Node) write(ctx context.Context, kind byte, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	select {
	case err := <-n.proposer.addOther(kind, text):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// promote gives a vote to members that have the state, while this node leads.
func (n *Node) promote(ctx context.Context) {
	every(ctx, n.opt.MeetEvery, func() {
		if n.reign.Load() == nil {
			return
		}
		for _, s := range n.servers() {
			if s.Suffrage == raft.Nonvoter && n.isReady(s) {
				err := n.giveVote(ctx, s)
				n.log.Info("member has the state and votes", "id", s.ID, "error", err)
			}
		}
	})
}

func (n *Node) giveVote(ctx context.Context, s raft.Server) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	if err := n.beginChange(ctx); err != nil {
		return err
	}
	defer n.endChange()
	return n.await(ctx, func() error { return n.raft.AddVoter(s.ID, s.Address, 0, changeTimeout).Error() })
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
	m, known := n.fsm.known.Load().Members[s.ID]
	r, heard := n.lastReport(s.ID)
	return known && !m.Spare && heard && n.isFresh(r) && r.Applied+readyWithin >= n.raft.AppliedIndex()
}

// readyWithin is how many entries a node may be behind and get its vote; the rest it has in no time.
const readyWithin = 1000

// order carries out what an operator wants.
func (n *Node) order(ctx context.Context, o adminOrder) error {
	switch o.Do {
	case "add":
		return n.addMember(ctx, o)
	case "remove":
		return n.removeMember(ctx, o.Node)
	case "transfer":
		return n.await(ctx, func() error { return n.transfer(o.Node) })
	}
	return errors.New("an order that this version of Stint does not know")
}

// addMember asks the node at an address to be a member, and changes whether it is to vote.
func (n *Node) addMember(ctx context.Context, o adminOrder) error {
	short, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	r, err := n.askReport(short, o.Address)
	if err != nil {
		return fmt.Errorf("the node at %s does not answer: %w", o.Address, err)
	}
	own := n.fsm.known.Load().ClusterID
	switch {
	case nodeName(r.ID) != o.Node:
		return fmt.Errorf("the node at %s is '%s', not '%s'", o.Address, nodeName(r.ID), o.Node)
	case r.ClusterID != "" && r.ClusterID != own:
		return fmt.Errorf("the node at %s belongs to the cluster %s; start it with an empty --dir to have it here", o.Address, r.ClusterID)
	}
	err = n.admit(ctx, joinRequest{ID: r.ID, Address: o.Address, Member: member{Node: o.Node, Client: r.Client, Spare: o.Spare}})
	if err != nil || !o.Spare {
		return err
	}
	for _, s := range n.servers() {
		if s.ID == r.ID && s.Suffrage == raft.Voter {
			if err := n.mayLose(ctx, s.ID); err != nil {
				return err
			}
			return n.await(ctx, func() error { return n.raft.DemoteVoter(s.ID, 0, changeTimeout).Error() })
		}
	}
	return nil
}

// removeMember ends a membership, unless what is left could not decide.
func (n *Node) removeMember(ctx context.Context, node string) error {
	s, err := n.member(node)
	if err != nil {
		return err
	}
	if err := n.mayLose(ctx, s.ID); err != nil {
		return err
	}
	if err := n.beginChange(ctx); err != nil {
		return err
	}
	defer n.endChange()
	if err := n.note(ctx, s.ID, nil); err != nil {
		return err
	}
	n.log.Info("removed member", "id", s.ID)
	return n.await(ctx, func() error { return n.raft.RemoveServer(s.ID, 0, changeTimeout).Error() })
}

func (n *Node) member(node string) (raft.Server, error) {
	for _, s := range n.servers() {
		if nodeName(s.ID) == node || string(s.ID) == node {
			return s, nil
		}
	}
	return raft.Server{}, fmt.Errorf("there is no member '%s'; RAFT NODES lists those there are", node)
}

// mayLose refuses to take the vote from a member if those left that answer, now, would be no majority.
func (n *Node) mayLose(ctx context.Context, id raft.ServerID) error {
	alive := map[raft.ServerID]bool{n.id: true}
	for _, r := range n.askAll(ctx, dialTimeout) {
		alive[r.ID] = true
	}
	voters, answering, votes := 0, 0, false
	for _, s := range n.servers() {
		switch {
		case s.Suffrage != raft.Voter:
		case s.ID == id:
			votes = true
		default:
			voters++
			if alive[s.ID] {
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
		return fmt.Errorf("of the %d voting members that would be left only %d answer, which is no majority: the cluster would stop deciding", voters, answering)
	}
	return nil
}
