package peers

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/placement"
)

// InGroup are the statuses of nodes as members of one group of keys. They arrive together with their statuses in group
// 0.
type InGroup struct {
	*Statuses
	number uint32
}

// InGroup returns the statuses of nodes as members of a group of keys.
func (s *Statuses) InGroup(number int) InGroup { return InGroup{s, uint32(number)} }

// Last implements [group.Statuses].
func (g InGroup) Last(id raft.ServerID) (group.MemberStatus, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	node := g.byID[placement.Node(id)]
	r, heard := node.keyGroups[g.number]
	if heard = heard && r.ID == id; !heard {
		r = group.MemberStatus{Formats: node.Formats} // a new group needs the formats
	}
	return r, heard
}

// NoteFormats implements [group.Statuses]. It does nothing, because the log of group 0 has the version first.
func (InGroup) NoteFormats(raft.ServerID, fsm.FormatVersion) {}

// ClaimedLeader implements [group.Statuses].
func (g InGroup) ClaimedLeader(cluster string) string { return g.claimed(cluster, g.number).Address }

// Leader implements [remote.Statuses].
func (g InGroup) Leader() (group.MemberStatus, bool) {
	best := g.LeaderOf(g.number)
	return best, best.Address != ""
}

// Ask implements [group.Statuses].
func (g InGroup) Ask(ctx context.Context, address string, q group.Request) (group.Response, error) {
	a, err := g.call(ctx, address, request{Request: q, Group: g.number})
	return a.Response, err
}

// Fetch implements [group.Statuses].
func (g InGroup) Fetch(ctx context.Context, address string) (group.MemberStatus, error) {
	r, err := g.fetches.fetch(ctx, address)
	if err != nil {
		return group.MemberStatus{}, err
	}
	own, isThere := r.keyGroups[g.number]
	if !isThere {
		return own, fmt.Errorf("%s: %w", address, errNoGroup(g.number))
	}
	return own, nil
}

// FetchAll implements [group.Statuses].
func (g InGroup) FetchAll(ctx context.Context, timeout time.Duration) (reports []group.MemberStatus) {
	for _, r := range g.Statuses.FetchAll(ctx, timeout) {
		if own, heard := g.OfKeyGroups(r.ID)[g.number]; heard {
			reports = append(reports, own)
		}
	}
	return reports
}
