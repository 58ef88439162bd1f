package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/transport"
)

// peerStatuses asks other nodes for their status, and keeps the last of each.
type peerStatuses struct {
	opt   *Options
	raft  *raftGroup
	peers *transport.Peers
	clock *clock.Clock

	mu   sync.Mutex
	byID map[raft.ServerID]peerStatus
}

// addresses returns those of all other known nodes.
func (p *peerStatuses) addresses() (all []string) {
	all = append(all, p.opt.Peers...)
	for _, s := range p.raft.servers() {
		all = append(all, string(s.Address))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(a string) bool { return a == p.opt.Advertise })
}

// store stores the status of another node.
func (p *peerStatuses) store(r peerStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.byID) < maxPeerStatuses || p.byID[r.ID].ID != "" {
		p.byID[r.ID] = r
	}
}

const maxPeerStatuses = 1024

// noteMembers takes new versions of members from the log. Each counts until the member's next answer: the last one may be that of its
// process before, and if its link is cut no other comes.
func (p *peerStatuses) noteMembers(before, now *fsm.Cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, m := range now.Members {
		if r, heard := p.byID[id]; heard && m.Formats != before.Members[id].Formats {
			r.Formats = m.Formats
			p.byID[id] = r
		}
	}
}

func (p *peerStatuses) last(id raft.ServerID) (peerStatus, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, heard := p.byID[id]
	return r, heard
}

// isAlive reports whether a node's status is recent and its Raft runs: only then is it reachable.
func (p *peerStatuses) isAlive(r peerStatus) bool { return !r.Gone && p.isFresh(r) }

// isFresh reports whether a status is recent enough to rely on.
func (p *peerStatuses) isFresh(r peerStatus) bool {
	return p.clock.Mono()-r.at < statusRounds*p.opt.MeetEvery
}

// statusRounds is the number of rounds of status requests for which a status is valid.
const statusRounds = 3

// claimedLeader returns the address of the node that reports to lead a cluster, or any if cluster is "", in the highest term.
func (p *peerStatuses) claimedLeader(cluster string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best peerStatus
	for _, r := range p.byID {
		if r.Leads && r.Term >= best.Term && p.isAlive(r) && (cluster == "" || r.ClusterID == cluster) {
			best = r
		}
	}
	return best.address
}

// call sends one request to the node at an address.
func (p *peerStatuses) call(ctx context.Context, address string, q request) (a response, err error) {
	conn, _, err := p.peers.Dial(ctx, address, transport.ForRPC)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(rpcTimeout))
	if err := transport.WriteJSON(conn, q); err != nil {
		return a, err
	}
	err = transport.ReadJSON(conn, &a)
	return a, err
}

// fetch asks the node at an address for its report.
func (p *peerStatuses) fetch(ctx context.Context, address string) (peerStatus, error) {
	a, err := p.call(ctx, address, request{Status: &struct{}{}})
	if err == nil && a.Status == nil {
		err = fmt.Errorf("%s: %s", address, a.Error)
	}
	if err != nil {
		return peerStatus{}, err
	}
	a.Status.address, a.Status.at = address, p.clock.Mono()
	return *a.Status, nil
}

// fetchAll asks all other members and all --cluster-peers for their status, and stores the answers.
func (p *peerStatuses) fetchAll(ctx context.Context, timeout time.Duration) (reports []peerStatus) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var (
		mu    sync.Mutex
		asked sync.WaitGroup
	)
	for _, address := range p.addresses() {
		asked.Go(func() {
			r, err := p.fetch(ctx, address)
			if err != nil {
				return
			}
			p.store(r)
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, r)
		})
	}
	asked.Wait()
	return reports
}
