package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/transport"
)

// membership changes the cluster's members, one change at a time, while this node leads.
type membership struct {
	opt       *Config
	raft      *raftnode.Node
	fsm       *fsm.Machine
	statuses  Statuses
	leader    *leaderFinder
	formats   *versionGate
	role      *leaderRole
	transfers *transfers
	log       *oncelog.Log

	ownProcess func() fsm.ProcessBody // as this node reports it

	shorten func() error // shortens the log for a new member

	changing chan struct{} // holds one token while members are being changed
	// joined is when this leader made each node a member that has no vote yet. The holder of the token has it.
	joined map[raft.ServerID]time.Time
}

// join makes a node a member, or records its new address. The node has no vote at first; promote gives it one when it
// has the state. A node that comes back under the same name without its disk is a new member, which takes the place of
// the old one, unless that one is alive: then two nodes have the same name, or copies of one disk. A node that an
// operator removed joins only after an operator has added it, and only an operator changes whether it is a nonvoter.
func (ms *membership) join(ctx context.Context, j JoinRequest, isAdded bool) error {
	if err := ms.beginChange(ctx); err != nil {
		return err
	}
	defer ms.endChange()
	name := raftnode.NodeName(j.ID)
	if !isAdded && ms.opt.IsRemoved(j.ID) {
		return fmt.Errorf("RAFT REMOVE has removed this node: start it with an empty --dir, or send RAFT ADD %s %s to a member", name, j.Address)
	}
	if err := ms.formats.check(j.ID, j.Member.Formats); err != nil {
		return err
	}
	isAs := func(id raft.ServerID) {
		if m, known := ms.fsm.Cluster.Load().Members[id]; known && !isAdded {
			j.Member.Nonvoter = m.Nonvoter
		}
	}
	isAs(j.ID)
	vote := false
	for _, s := range ms.raft.Servers() {
		if raftnode.NodeName(s.ID) == name && string(s.Address) != j.Address && ms.statuses.OtherAt(ctx, s, j.Address) {
			return fmt.Errorf("the node id '%s' is in use by %s, which is alive; each node needs its own --node-id, and a --dir that is no copy of another's", name, s.Address)
		}
		switch {
		case s.ID == j.ID && string(s.Address) == j.Address:
			return ms.write(ctx, j.ID, &j.Member)
		case s.ID == j.ID:
			vote = s.Suffrage == raft.Voter
		case raftnode.NodeName(s.ID) == name:
			isAs(s.ID)
			isAs(j.ID)
			if err := ms.replace(ctx, s, j); err != nil {
				return err
			}
		case string(s.Address) == j.Address:
			return fmt.Errorf("%s is the address of the member '%s'; RAFT REMOVE it first if it is gone for good", j.Address, raftnode.NodeName(s.ID))
		}
	}
	change := ms.raft.AddNonvoter
	if vote {
		change = ms.raft.AddVoter
	}
	if !vote { // it has no state
		if err := ms.raft.Await(ctx, ms.shorten); ctx.Err() != nil {
			return err // the caller has given up
		} else if err != nil {
			ms.log.Warn("cannot compact the log for a new member", "error", err)
		}
	}
	err := ms.raft.Await(ctx, func() error { return change(j.ID, raft.ServerAddress(j.Address), 0, changeTimeout).Error() })
	if err != nil {
		return err
	}
	if !vote {
		ms.joined[j.ID] = time.Now()
	}
	ms.log.Info("member", "id", j.ID, "address", j.Address)
	return ms.write(ctx, j.ID, &j.Member)
}

// replace removes a member when a node of the same name takes its place.
func (ms *membership) replace(ctx context.Context, old raft.Server, j JoinRequest) error {
	ms.log.Warn("a member has come back without its state and joins as a new one", "id", old.ID, "new_id", j.ID)
	// The description is written before the old one is forgotten, or a nonvoter would become a voter.
	if err := ms.write(ctx, j.ID, &j.Member); err != nil {
		return err
	}
	delete(ms.joined, old.ID)
	err := ms.raft.Await(ctx, func() error { return ms.raft.RemoveServer(old.ID, 0, changeTimeout).Error() })
	if err != nil {
		return err
	}
	return ms.formats.propose(ctx, fsm.KindMember, fsm.MemberBody{ID: old.ID})
}

const changeTimeout = 5 * time.Second

// write writes a member's description into the log, if it has changed.
func (ms *membership) write(ctx context.Context, id raft.ServerID, m *fsm.Member) error {
	if known, is := ms.fsm.Cluster.Load().Members[id]; is && known == *m {
		return nil
	}
	return ms.formats.propose(ctx, fsm.KindMember, fsm.MemberBody{ID: id, Member: m})
}

// promote gives a vote to members that have the state, takes it from nonvoters, and raises the cluster's format
// version, while this node leads.
func (ms *membership) promote(ctx context.Context) {
	if ms.role.current.Load() == nil {
		return
	}
	ms.updateFormats(ctx)
	ms.recordProcesses(ctx)
	for _, s := range ms.raft.Servers() {
		r, _ := ms.statuses.Last(s.ID)
		switch votes, known := ms.isToVote(s.ID); {
		case s.Suffrage == raft.Nonvoter && known && votes && ms.isNearlyCaughtUp(r):
			if err := ms.giveVote(ctx, s); err != nil {
				ms.log.Once("vote "+string(s.ID), "a member has the state, but could not be given its vote yet", "id", s.ID, "error", err)
				continue
			}
		case s.Suffrage == raft.Voter && known && !votes:
			err := ms.change(ctx, func(ctx context.Context) error { return ms.takeVote(ctx, s.ID) })
			if err != nil && !errors.Is(err, errHandedOver) {
				ms.log.Once("nonvoter "+string(s.ID)+err.Error(), "a nonvoter still votes", "id", s.ID, "error", err)
			}
		}
	}
}

// isToVote reports whether a member is to have a vote, and whether that is known.
func (ms *membership) isToVote(id raft.ServerID) (votes, known bool) {
	m, known := ms.fsm.Cluster.Load().Members[id]
	if known && ms.opt.IsToVote != nil {
		return ms.opt.IsToVote(id)
	}
	return !m.Nonvoter, known
}

func (ms *membership) giveVote(ctx context.Context, s raft.Server) error {
	return ms.change(ctx, func(ctx context.Context) error {
		err := ms.raft.Await(ctx, func() error { return ms.raft.AddVoter(s.ID, s.Address, 0, changeTimeout).Error() })
		if err != nil {
			return err
		}
		about := []any{"id", s.ID}
		if since, known := ms.joined[s.ID]; known { // unknown to a new leader
			about = append(about, "after", time.Since(since).Round(time.Millisecond))
		}
		delete(ms.joined, s.ID)
		ms.log.Info("a member has the state and votes now", about...)
		return nil
	})
}

// change runs one change of members, in its turn and within a bounded time.
func (ms *membership) change(ctx context.Context, run func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, RPCTimeout)
	defer cancel()
	if err := ms.beginChange(ctx); err != nil {
		return err
	}
	defer ms.endChange()
	return run(ctx)
}

// beginChange waits for its turn to change members: one change at a time.
func (ms *membership) beginChange(ctx context.Context) error {
	select {
	case ms.changing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("another change of members is under way: %w", ctx.Err())
	}
}

func (ms *membership) endChange() { <-ms.changing }

// isNearlyCaughtUp reports whether a node could vote at once: its Raft runs, and it has nearly all of the log and knows
// the cluster's format version.
func (ms *membership) isNearlyCaughtUp(r MemberStatus) bool {
	return ms.statuses.IsAlive(r) && ms.formats.check(r.ID, r.Formats) == nil &&
		r.Applied+readyWithin >= ms.fsm.Applied.Load()
}

// readyWithin is the largest number of entries that a node may lack when it gets its vote; these arrive within moments.
const readyWithin = 1000

// add makes the node at an address a member, or changes whether a member is to vote.
func (ms *membership) add(ctx context.Context, o AdminRequest) error {
	short, cancel := context.WithTimeout(ctx, transport.DialTimeout)
	defer cancel()
	r, err := ms.statuses.Fetch(short, o.Address)
	if err != nil {
		return fmt.Errorf("the node at %s does not answer: %w", o.Address, err)
	}
	own := ms.fsm.Cluster.Load().ClusterID
	switch {
	case raftnode.NodeName(r.ID) != o.Node:
		return fmt.Errorf("the node at %s is '%s', not '%s'", o.Address, raftnode.NodeName(r.ID), o.Node)
	case r.ClusterID != "" && r.ClusterID != own:
		return fmt.Errorf("the node at %s belongs to the cluster %s; start it with an empty --dir to have it here", o.Address, r.ClusterID)
	}
	if o.Nonvoter {
		if err := ms.canRemoveVoter(ctx, r.ID); err != nil {
			return err
		}
	}
	member := fsm.Member{Node: o.Node, Client: r.Client, Nonvoter: o.Nonvoter, Formats: r.Formats}
	err = ms.join(ctx, JoinRequest{ID: r.ID, Address: o.Address, Member: member}, true)
	if err != nil || !o.Nonvoter {
		return err
	}
	return ms.change(ctx, func(ctx context.Context) error { return ms.takeVote(ctx, r.ID) })
}

// takeVote takes a member's vote, unless the remaining voters could not decide. A leader first transfers leadership to
// another node, which then takes the vote.
func (ms *membership) takeVote(ctx context.Context, id raft.ServerID) error {
	s, err := ms.raft.Member(string(id))
	if err != nil || s.Suffrage != raft.Voter {
		return err
	}
	if err := ms.canRemoveVoter(ctx, id); err != nil {
		return err
	}
	if id == ms.raft.ID {
		return ms.leaveToNext(ctx)
	}
	if err := ms.raft.Await(ctx, func() error { return ms.raft.DemoteVoter(id, 0, changeTimeout).Error() }); err != nil {
		return err
	}
	ms.log.Info("a member has lost its vote", "id", id)
	return nil
}

// remove ends a membership, unless the remaining members could not decide.
func (ms *membership) remove(ctx context.Context, o AdminRequest) error {
	s, err := ms.raft.Member(o.Node)
	switch {
	case err != nil && ms.opt.Number > 0:
		return nil // it has left this group of keys already
	case err != nil:
		return err
	}
	if s.ID == ms.raft.ID {
		if err := ms.canRemoveVoter(ctx, s.ID); err != nil {
			return err
		}
		return ms.leaveToNext(ctx)
	}
	if err := ms.beginChange(ctx); err != nil {
		return err
	}
	defer ms.endChange()
	if o.Again && !ms.opt.IsRemoved(s.ID) {
		return nil
	}
	if err := ms.canRemoveVoter(ctx, s.ID); err != nil {
		return err
	}
	if err := ms.formats.propose(ctx, fsm.KindMember, fsm.MemberBody{ID: s.ID, Removed: true}); err != nil {
		return err
	}
	delete(ms.joined, s.ID)
	ms.log.Info("removed member", "id", s.ID)
	return ms.raft.Await(ctx, func() error { return ms.raft.RemoveServer(s.ID, 0, changeTimeout).Error() })
}

// leaveToNext transfers leadership to another node, which then removes this node, or takes its vote: errHandedOver
// sends the caller there. A leader that removed itself could not make sure that the others learn of it.
func (ms *membership) leaveToNext(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if err := ms.raft.Await(ctx, func() error { return ms.transfers.transfer("") }); err != nil {
		return fmt.Errorf("the node leads, and must transfer leadership before it is removed or loses its vote, which failed: %w", err)
	}
	for ctx.Err() == nil {
		moved := ms.leader.changed.Wait()
		if ms.leader.address() != "" {
			return errHandedOver
		}
		notifier.Pause(ctx, moved, 20*time.Millisecond) // another node's status may name the leader too
	}
	return ErrNoLeader
}

var errHandedOver = errors.New("this leader has transferred leadership before the change: ask the next leader")

// canRemoveVoter returns an error if the remaining voters that answer and have the state would be no majority.
func (ms *membership) canRemoveVoter(ctx context.Context, id raft.ServerID) error {
	if s, err := ms.raft.Member(string(id)); err != nil || s.Suffrage != raft.Voter {
		return nil // a node that is no member has no vote
	}
	useful := map[raft.ServerID]bool{ms.raft.ID: true}
	for _, r := range ms.statuses.FetchAll(ctx, transport.DialTimeout) {
		useful[r.ID] = ms.isNearlyCaughtUp(r)
	}
	answering, missing := 0, []string(nil)
	for _, s := range ms.raft.Servers() {
		switch {
		case s.Suffrage != raft.Voter || s.ID == id:
		case useful[s.ID]:
			answering++
		default:
			missing = append(missing, "'"+raftnode.NodeName(s.ID)+"'")
		}
	}
	switch {
	case answering+len(missing) == 0:
		return errors.New("it is the last member with a vote, and without one the cluster cannot decide: RAFT ADD another voter first")
	case answering <= len(missing):
		return fmt.Errorf("only %d of the %d remaining voters answer and have the state, which is not a majority, so the cluster would stop deciding. Start %s and wait until RAFT NODES has them as healthy, "+
			"or RAFT REMOVE those first that are gone for good", answering, answering+len(missing), strings.Join(missing, ", "))
	}
	return nil
}
