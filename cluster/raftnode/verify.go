package raftnode

import (
	"cmp"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
)

// Verify asks a majority whether this node still leads a term, and returns the moment before it asked. Raft counts
// every answer that comes after that moment, even to a message that was sent long before. So the moment returned is at
// most a quarter of the heartbeat timeout after a majority was sent the messages that it agreed to.
func (n *Node) Verify(term uint64) (asked clock.Moment, err error) {
	asked = n.clock.Moment()
	if err := n.VerifyLeader().Error(); err != nil {
		return asked, err
	}
	var sent []clock.Moment // to voters
	for _, s := range n.Servers() {
		switch {
		case s.Suffrage != raft.Voter:
		case s.ID == n.ID:
			sent = append(sent, asked)
		default:
			sent = append(sent, n.Transport.Follower(s.ID).Agreed(term))
		}
	}
	slices.SortFunc(sent, func(a, b clock.Moment) int { return cmp.Compare(b.Mono, a.Mono) })
	late := int64(n.heartbeat / 4)
	for _, m := range sent[:min(len(sent), len(sent)/2+1)] {
		asked = clock.Moment{Mono: min(asked.Mono, m.Mono+late), Wall: min(asked.Wall, m.Wall+late)}
	}
	return asked, nil
}
