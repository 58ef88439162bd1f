package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/transport"
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
	node := p.byID[placement.Node(id)]
	r, heard := node.keyGroups[p.number]
	if heard = heard && r.ID == id; !heard {
		r = group.MemberStatus{Formats: node.Formats} // which a new group asks for
	}
	return r, heard
}

// NoteFormats implements [group.Statuses]: the log of group 0 says it first.
func (groupStatuses) NoteFormats(raft.ServerID, fsm.FormatVersion) {}

// ClaimedLeader implements [group.Statuses].
func (p groupStatuses) ClaimedLeader(cluster string) string {
	return p.claimedLeader(cluster, p.number)
}

// Leader implements [remote.Statuses].
func (p groupStatuses) Leader() (group.MemberStatus, bool) {
	best := p.claimed("", p.number)
	return best, best.Address != ""
}

// Ask implements [group.Statuses].
func (p groupStatuses) Ask(ctx context.Context, address string, q group.Request) (group.Response, error) {
	a, err := p.call(ctx, address, request{Request: q, Group: p.number})
	return a.Response, err
}

// Fetch implements [group.Statuses].
func (p groupStatuses) Fetch(ctx context.Context, address string) (group.MemberStatus, error) {
	r, err := p.shared.fetch(ctx, address)
	if err != nil {
		return group.MemberStatus{}, err
	}
	own, isThere := r.keyGroups[p.number]
	if !isThere {
		return own, fmt.Errorf("%s: this node has no group %d", address, p.number)
	}
	return own, nil
}

// FetchAll implements [group.Statuses].
func (p groupStatuses) FetchAll(ctx context.Context, timeout time.Duration) (reports []group.MemberStatus) {
	for _, r := range p.peerStatuses.FetchAll(ctx, timeout) {
		if own, heard := p.ofKeyGroups(r.ID)[p.number]; heard {
			reports = append(reports, own)
		}
	}
	return reports
}

// sharedFetches asks each node once for all groups that want its status at the same time.
type sharedFetches struct {
	ask func(ctx context.Context, address string) (nodeStatus, error)

	mu   sync.Mutex
	next map[string]*sharedFetch // by address: begins when the one under way has ended
	busy map[string]bool         // one is under way
}

type sharedFetch struct {
	done   chan struct{}
	status nodeStatus
	err    error
}

// fetch returns a status that was asked for after the call.
func (s *sharedFetches) fetch(ctx context.Context, address string) (nodeStatus, error) {
	s.mu.Lock()
	f := s.next[address]
	if f == nil {
		f = &sharedFetch{done: make(chan struct{})}
		s.next[address] = f
		if !s.busy[address] {
			s.busy[address] = true
			go s.run(address)
		}
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.status, f.err
	case <-ctx.Done():
		return nodeStatus{}, context.Cause(ctx)
	}
}

func (s *sharedFetches) run(address string) {
	for f := s.take(address); f != nil; f = s.take(address) {
		ctx, cancel := context.WithTimeout(context.Background(), transport.DialTimeout) // later callers wait for this one
		f.status, f.err = s.ask(ctx, address)
		cancel()
		close(f.done)
	}
}

// take takes the next fetch of a node, nil without one.
func (s *sharedFetches) take(address string) *sharedFetch {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.next[address]
	if delete(s.next, address); f == nil {
		delete(s.busy, address)
	}
	return f
}
