package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/transport"
)

// peerStatuses asks other nodes for their status, and keeps the last of each.
type peerStatuses struct {
	opt     *Options
	peers   *transport.Peers
	members func() []raft.Server // of all groups
	shared  *sharedFetches

	mu     sync.Mutex
	byID   map[raft.ServerID]nodeStatus
	silent map[string]unanswered // by address, of nodes that did not answer the last time
	asked  bool                  // all, once
}

// unanswered is what an address has not answered.
type unanswered struct {
	since time.Time
	err   error // the last one
}

// noteAnswer notes whether the node at an address has answered.
func (p *peerStatuses) noteAnswer(address string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, isSilent := p.silent[address]
	switch {
	case err == nil:
		delete(p.silent, address)
	case isSilent:
		p.silent[address] = unanswered{before.since, err}
	default:
		p.silent[address] = unanswered{time.Now(), err}
	}
}

// silentFor returns the addresses that have not answered for some time, sorted, each with its error.
func (p *peerStatuses) silentFor(d time.Duration) (all []string) {
	addresses := p.addresses()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, address := range addresses {
		if s, isSilent := p.silent[address]; isSilent && time.Since(s.since) >= d {
			all = append(all, fmt.Sprintf("%s (%v)", address, s.err))
		}
	}
	return all
}

// nodeStatus is the status of a node as a member of group 0, and as one of the groups of keys.
type nodeStatus struct {
	group.MemberStatus
	keyGroups map[uint32]group.MemberStatus
	asked     time.Time
}

// in is the status as a member of a group.
func (s nodeStatus) in(number uint32) group.MemberStatus {
	if number == 0 {
		return s.MemberStatus
	}
	return s.keyGroups[number]
}

// addresses returns those of all other known nodes.
func (p *peerStatuses) addresses() (all []string) {
	all = append(all, p.opt.Peers...)
	for _, s := range p.members() {
		all = append(all, string(s.Address))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(a string) bool { return a == p.opt.Advertise })
}

// store stores the status of another node, unless there is one that was asked for later: an answer may be late.
func (p *peerStatuses) store(r nodeStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byID[r.ID].asked.After(r.asked) {
		return
	}
	if len(p.byID) < maxPeerStatuses || p.byID[r.ID].ID != "" {
		p.byID[r.ID] = r
	}
}

const maxPeerStatuses = 1024

// NoteFormats takes a new version of a member from the log. It counts until the member's next answer: the last one may be that of its
// process before, and if its link is cut no other comes.
func (p *peerStatuses) NoteFormats(id raft.ServerID, newest fsm.FormatVersion) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, heard := p.byID[id]; heard {
		r.Formats = newest
		p.byID[id] = r
	}
}

func (p *peerStatuses) Last(id raft.ServerID) (group.MemberStatus, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, heard := p.byID[id]
	return r.MemberStatus, heard
}

// IsAlive reports whether a node's status is recent and its Raft runs: only then is it reachable.
func (p *peerStatuses) IsAlive(r group.MemberStatus) bool { return !r.Gone && p.IsFresh(r) }

// IsFresh reports whether a status is recent enough to rely on.
func (p *peerStatuses) IsFresh(r group.MemberStatus) bool {
	return time.Since(r.At) < group.StatusRounds*p.opt.MeetEvery
}

// ClaimedLeader returns the address of the node that reports to lead a cluster, or any if cluster is "", in the highest term.
func (p *peerStatuses) ClaimedLeader(cluster string) string { return p.claimedLeader(cluster, 0) }

func (p *peerStatuses) claimedLeader(cluster string, number uint32) string {
	return p.claimed(cluster, number).Address
}

// claimed is the status of the node that reports to lead a group.
func (p *peerStatuses) claimed(cluster string, number uint32) group.MemberStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best group.MemberStatus
	for _, node := range p.byID {
		if r := node.in(number); r.Leads && r.Term >= best.Term && p.IsAlive(r) && (cluster == "" || r.ClusterID == cluster) {
			best = r
		}
	}
	return best
}

// notSent is the error of a request to a node that could not be reached.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

// call sends one request to the node at an address.
func (p *peerStatuses) call(ctx context.Context, address string, q request) (a response, err error) {
	conn, _, err := p.peers.Dial(ctx, address, transport.ForRPC)
	if err != nil {
		return a, notSent{err}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(group.RPCTimeout))
	if err := transport.WriteJSON(conn, q); err != nil {
		return a, err
	}
	err = transport.ReadJSON(conn, &a)
	return a, err
}

// Ask sends one request about a group to the node at an address.
func (p *peerStatuses) Ask(ctx context.Context, address string, q group.Request) (group.Response, error) {
	a, err := p.call(ctx, address, request{Request: q})
	return a.Response, err
}

// Fetch asks the node at an address for its report.
func (p *peerStatuses) Fetch(ctx context.Context, address string) (group.MemberStatus, error) {
	r, err := p.ask(ctx, address)
	return r.MemberStatus, err
}

// OtherAt implements [group.Statuses].
func (p *peerStatuses) OtherAt(ctx context.Context, member raft.Server, second string) bool {
	ctx, cancel := context.WithTimeout(ctx, transport.DialTimeout)
	defer cancel()
	at, err := p.Fetch(ctx, string(member.Address))
	if err != nil || at.ID != placement.Node(member.ID) {
		return false
	}
	other, err := p.Fetch(ctx, second)
	return err != nil || other.ID != at.ID || other.Process != at.Process
}

// ask is fetch, once for all groups that want it at the same time.
func (p *peerStatuses) ask(ctx context.Context, address string) (nodeStatus, error) {
	if p.opt.Groups < 2 {
		return p.fetch(ctx, address)
	}
	return p.shared.fetch(ctx, address)
}

// fetch asks the node at an address for its status in all its groups.
func (p *peerStatuses) fetch(ctx context.Context, address string) (r nodeStatus, err error) {
	counts := p.opt.Watched != nil && p.opt.Watched()
	r.asked = time.Now()
	a, err := p.call(ctx, address, request{Status: &statusRequest{counts}})
	if err == nil && a.Status == nil {
		err = fmt.Errorf("%s: %s", address, a.Error)
	}
	if err != nil {
		return r, err
	}
	r.MemberStatus, r.keyGroups = *a.Status, a.KeyGroups
	r.Address, r.At = address, time.Now()
	for number, own := range r.keyGroups {
		own.Address, own.At = r.Address, r.At
		r.keyGroups[number] = own
	}
	return r, nil
}

// FetchAll asks all other members and all --cluster-peers for their status, and stores the answers.
func (p *peerStatuses) FetchAll(ctx context.Context, timeout time.Duration) (reports []group.MemberStatus) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var (
		mu    sync.Mutex
		asked sync.WaitGroup
	)
	for _, address := range p.addresses() {
		asked.Go(func() {
			r, err := p.ask(ctx, address)
			p.noteAnswer(address, err)
			if err != nil {
				return
			}
			p.store(r)
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, r.MemberStatus)
		})
	}
	asked.Wait()
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	return reports
}

// isLed reports whether a node that answers knows a leader of a group. Before all have been asked it may be.
func (p *peerStatuses) isLed(number uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, node := range p.byID {
		if r := node.in(number); r.Leader != "" && p.IsAlive(r) {
			return true
		}
	}
	return !p.asked
}
