package peers

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/transport"
)

// Config configures the statuses of other nodes.
type Config struct {
	Peers     []string             // the addresses at which nodes may be found, and names of DNS that have them; see [IsName]
	Resolver  Resolver             // for the names
	Members   func() []raft.Server // of all groups: nodes may be found at their addresses too
	Advertise string               // this node's own address
	Groups    int                  // of keys; below 2, group 0 has all keys
	MeetEvery time.Duration        // how often nodes ask each other how they are
	// Watched reports whether somebody looks at this node's page, which needs counts of all nodes. It is nil without a page.
	Watched func() bool
}

// Statuses asks other nodes for their status, and keeps the last status of each. It implements [group.Statuses] for
// group 0.
type Statuses struct {
	opt     Config
	conns   *transport.Peers
	fixed   []string // the addresses among the peers
	names   *names
	fetches *fetches // used where there are groups of keys

	mu     sync.Mutex
	byID   map[raft.ServerID]nodeStatus
	silent map[string]unanswered // by address, of nodes that did not answer the last time
	asked  bool                  // all nodes have been asked once
}

// New returns the statuses of the nodes that can be reached through conns. Nobody has been asked yet.
func New(c Config, conns *transport.Peers) *Statuses {
	s := &Statuses{opt: c, conns: conns, byID: map[raft.ServerID]nodeStatus{}, silent: map[string]unanswered{}}
	s.fixed, s.names = split(c.Peers, c.Resolver)
	s.fetches = newFetches(s.fetch)
	return s
}

// unanswered says since when an address has not answered.
type unanswered struct {
	since time.Time
	err   error // the last one
}

// noteAnswer notes whether the node at an address has answered.
func (s *Statuses) noteAnswer(address string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, isSilent := s.silent[address]
	switch {
	case err == nil:
		delete(s.silent, address)
	case isSilent:
		s.silent[address] = unanswered{before.since, err}
	default:
		s.silent[address] = unanswered{time.Now(), err}
	}
}

// SilentFor returns the addresses that have not answered for some time, sorted, each with its error.
func (s *Statuses) SilentFor(d time.Duration) (all []string) {
	addresses := s.addresses()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, address := range addresses {
		if u, isSilent := s.silent[address]; isSilent && time.Since(u.since) >= d {
			all = append(all, fmt.Sprintf("%s (%v)", address, u.err))
		}
	}
	return all
}

// addresses returns the addresses of all other known nodes.
func (s *Statuses) addresses() (all []string) {
	all = append(s.names.addresses(), s.fixed...)
	for _, m := range s.opt.Members() {
		all = append(all, string(m.Address))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(a string) bool { return a == s.opt.Advertise })
}

// Known returns how many nodes have an address among the peers or as a member, with this node.
func (s *Statuses) Known() int { return len(s.addresses()) + 1 }

// store stores the status of another node, unless a status is stored that was asked for later: an answer may be late.
func (s *Statuses) store(r nodeStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[r.ID].asked.After(r.asked) {
		return
	}
	if len(s.byID) < maxStatuses || s.byID[r.ID].ID != "" {
		s.byID[r.ID] = r
	}
}

const maxStatuses = 1024

// NoteFormats implements [group.Statuses]. The version counts until the member's next answer: its last answer may be
// from before its process was replaced, and if its link is cut no other answer comes.
func (s *Statuses) NoteFormats(id raft.ServerID, newest fsm.FormatVersion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, heard := s.byID[id]; heard {
		r.Formats = newest
		s.byID[id] = r
	}
}

// Last implements [group.Statuses].
func (s *Statuses) Last(id raft.ServerID) (group.MemberStatus, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, heard := s.byID[id]
	return r.MemberStatus, heard
}

// OfKeyGroups returns the last status of another node in each group of keys, by number; nil if the node is not
// reachable.
func (s *Statuses) OfKeyGroups(id raft.ServerID) map[uint32]group.MemberStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byID[id]
	if !s.IsAlive(r.MemberStatus) {
		return nil
	}
	return r.keyGroups
}

// IsAlive implements [group.Statuses].
func (s *Statuses) IsAlive(r group.MemberStatus) bool { return !r.Gone && s.IsFresh(r) }

// IsFresh implements [group.Statuses].
func (s *Statuses) IsFresh(r group.MemberStatus) bool {
	return time.Since(r.At) < group.StatusRounds*s.opt.MeetEvery
}

// ClaimedLeader implements [group.Statuses].
func (s *Statuses) ClaimedLeader(cluster string) string { return s.claimed(cluster, 0).Address }

// LeaderOf returns the status of the node that reports to lead a group, in the highest term; its Address is "" if none
// does.
func (s *Statuses) LeaderOf(number uint32) group.MemberStatus { return s.claimed("", number) }

func (s *Statuses) claimed(cluster string, number uint32) group.MemberStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best group.MemberStatus
	for _, node := range s.byID {
		if r := node.in(number); r.Leads && r.Term >= best.Term && s.IsAlive(r) && (cluster == "" || r.ClusterID == cluster) {
			best = r
		}
	}
	return best
}

// IsLed reports whether a node that answers knows a leader of a group. It is true as well until all nodes have been
// asked once.
func (s *Statuses) IsLed(number uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, node := range s.byID {
		if r := node.in(number); r.Leader != "" && s.IsAlive(r) {
			return true
		}
	}
	return !s.asked
}
