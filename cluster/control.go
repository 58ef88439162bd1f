package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// request is what one node asks of another about the cluster itself. Exactly one of its fields is set.
type request struct {
	Report *struct{}    `json:"report,omitempty"`
	Join   *joinRequest `json:"join,omitempty"`
	Admin  *adminOrder  `json:"admin,omitempty"`
}

// response answers a request.
type response struct {
	Error  string  `json:"error,omitempty"`
	Leader string  `json:"leader,omitempty"` // where to ask instead
	Report *report `json:"report,omitempty"`
}

// report is what a node tells of itself.
type report struct {
	ID        raft.ServerID `json:"id"`
	ClusterID string        `json:"cluster"` // "" while it has none
	Started   bool          `json:"started"` // it has a log: it was a member of a cluster, even if it does not know of which
	Client    string        `json:"client"`
	Leads     bool          `json:"leads"`
	Leased    bool          `json:"leased"` // nobody else can lead: what it has applied is all that was acknowledged
	Leader    string        `json:"leader"` // where it thinks the leader is
	Term      uint64        `json:"term"`
	Applied   uint64        `json:"applied"`
	Last      uint64        `json:"last"`
	Now       int64         `json:"now"`    // the cluster's time as it knows it, 0 if not at all
	Silent    time.Duration `json:"silent"` // since it has heard of a leader, 0 if it leads

	address string // where it was asked
	at      time.Duration
}

// joinRequest asks the leader to make a node a member.
type joinRequest struct {
	ID      raft.ServerID `json:"id"`
	Address string        `json:"address"`
	Member  member        `json:"member"`
}

// adminOrder is what an operator wants of the leader.
type adminOrder struct {
	Do      string `json:"do"` // add, remove or transfer
	Node    string `json:"node,omitempty"`
	Address string `json:"address,omitempty"`
	Spare   bool   `json:"spare,omitempty"`
}

// controlTimeout bounds a request and its answer. Changing members takes a few rounds of the log.
const controlTimeout = 15 * time.Second

// serveControl answers the requests on a connection until it closes.
func (n *Node) serveControl(conn net.Conn) {
	for {
		var q request
		_ = conn.SetReadDeadline(time.Now().Add(controlTimeout))
		if err := readJSON(conn, &q); err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(n.ctx, controlTimeout)
		answer := n.answer(ctx, q)
		cancel()
		_ = conn.SetWriteDeadline(time.Now().Add(linkSilence))
		if err := writeJSON(conn, answer); err != nil {
			return
		}
	}
}

func (n *Node) answer(ctx context.Context, q request) (a response) {
	var err error
	switch {
	case q.Report != nil:
		own := n.report()
		return response{Report: &own}
	case n.reign.Load() == nil:
		return response{Error: "this node does not lead", Leader: n.leaderAddress()}
	case q.Join != nil:
		err = n.admit(ctx, *q.Join)
	case q.Admin != nil:
		err = n.order(ctx, *q.Admin)
	default:
		err = errors.New("a request that this version of Stint does not know")
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func (n *Node) report() report {
	r := report{
		ID: n.id, ClusterID: n.clusterID(), Started: n.hasLog(), Client: n.opt.Client,
		Leader: n.leaderAddress(), Term: n.raft.CurrentTerm(), Applied: n.raft.AppliedIndex(), Last: n.raft.LastIndex(), Now: n.clock.now(),
	}
	if n.raft.State() != raft.Leader {
		r.Silent = time.Since(n.raft.LastContact())
	}
	if reign := n.reign.Load(); reign != nil {
		r.Leads, r.Leader = true, n.opt.Advertise
		r.Leased = reign.holds(n.clock.mono()) // after the index was read
	}
	return r
}

// ask sends one request to the node at an address.
func (n *Node) ask(ctx context.Context, address string, q request) (a response, err error) {
	conn, _, err := n.peers.dial(ctx, address, forControl)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(controlTimeout))
	if err := writeJSON(conn, q); err != nil {
		return a, err
	}
	err = readJSON(conn, &a)
	return a, err
}

// askReport asks the node at an address for its report.
func (n *Node) askReport(ctx context.Context, address string) (report, error) {
	a, err := n.ask(ctx, address, request{Report: &struct{}{}})
	if err == nil && a.Report == nil {
		err = fmt.Errorf("%s: %s", address, a.Error)
	}
	if err != nil {
		return report{}, err
	}
	a.Report.address, a.Report.at = address, n.clock.mono()
	return *a.Report, nil
}

// askAll asks all others, members and those it was told of at the start, and remembers what they say.
func (n *Node) askAll(ctx context.Context, timeout time.Duration) (reports []report) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var (
		mu    sync.Mutex
		asked sync.WaitGroup
	)
	for _, address := range n.addresses() {
		asked.Go(func() {
			r, err := n.askReport(ctx, address)
			if err != nil {
				return
			}
			n.heard(r)
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, r)
		})
	}
	asked.Wait()
	return reports
}

// askLeader sends a request to the leader, or carries it out if that is this node.
func (n *Node) askLeader(ctx context.Context, q request) error {
	address := n.opt.Advertise
	if n.reign.Load() == nil {
		if address = n.leaderAddress(); address == "" {
			return errNoLeader
		}
	}
	for range 3 {
		var a response
		var err error
		if address == n.opt.Advertise {
			a = n.answer(ctx, q)
		} else if a, err = n.ask(ctx, address, q); err != nil {
			return err
		}
		switch {
		case a.Error == "":
			return nil
		case a.Leader == "" || a.Leader == address:
			return errors.New(a.Error)
		}
		address = a.Leader
	}
	return errNoLeader
}

var errNoLeader = errors.New("the cluster has no leader at the moment")
