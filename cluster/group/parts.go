package group

import (
	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/allowance"
	"github.com/stintdb/stint/cluster/forward"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/transport"
)

// Parts are what tests of whole clusters look at in a group, and disturb. Nothing else uses them.
type Parts struct {
	Raft      *raft.Raft
	Transport *transport.RaftTransport // that Raft sends by
	Log       raft.LogStore            // as Raft reads it
	Machine   *fsm.Machine
	Allowance *allowance.Allowance
	Forwarder *forward.Client

	Changing   chan struct{}           // holds one token while members are being changed
	CouldVote  func(MemberStatus) bool // reports whether a node could vote at once
	OpenOffers int64                   // of leadership to another node
}

// Parts returns the group's parts, for tests.
func (g *Group) Parts() Parts {
	return Parts{
		Raft: g.raft.Raft, Transport: g.raft.Transport, Log: g.raft.Readable(g.logs), Machine: g.fsm,
		Allowance: g.allowance, Forwarder: g.forwarder,
		Changing: g.members.changing, CouldVote: g.members.isNearlyCaughtUp, OpenOffers: g.role.offers.Load(),
	}
}
