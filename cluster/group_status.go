package cluster

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
)

// groupStatuses are the statuses of nodes as members of one group of keys. They come with those of group 0.
type groupStatuses struct {
	*peerStatuses
	number uint32
}

// ofKeyGroups are the last statuses of another node in the groups of keys; none if it is not reachable.
func (p *peerStatuses) ofKeyGroups(id raft.ServerID) map[uint32]group.MemberStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.byID[id]
	if !p.IsAlive(r.MemberStatus) {
		return nil
	}
	return r.keyGroups
}

// Last implements [group.Statuses].
func (p groupStatuses) Last(id raft.ServerID) (group.MemberStatus, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	node := p.byID[id]
	r, heard := node.keyGroups[p.number]
	if !heard {
		r.Formats = node.Formats // which a new group asks for
	}
	return r, heard
}

// NoteFormats implements [group.Statuses]: the log of group 0 says it first.
func (groupStatuses) NoteFormats(raft.ServerID, fsm.FormatVersion) {}

// ClaimedLeader implements [group.Statuses].
func (p groupStatuses) ClaimedLeader(cluster string) string {
	return p.claimedLeader(cluster, p.number)
}

// Ask implements [group.Statuses].
func (p groupStatuses) Ask(ctx context.Context, address string, q group.Request) (group.Response, error) {
	a, err := p.call(ctx, address, request{Request: q, Group: p.number})
	return a.Response, err
}

// Fetch implements [group.Statuses].
func (p groupStatuses) Fetch(ctx context.Context, address string) (group.MemberStatus, error) {
	r, err := p.fetch(ctx, address, p.number)
	return r.MemberStatus, err
}

// FetchAll implements [group.Statuses].
func (p groupStatuses) FetchAll(ctx context.Context, timeout time.Duration) (reports []group.MemberStatus) {
	for _, r := range p.peerStatuses.FetchAll(ctx, timeout) {
		if own, heard := p.Last(r.ID); heard {
			reports = append(reports, own)
		}
	}
	return reports
}
