package cluster

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// request is a question or request of one node to another about the cluster itself: its status, a pledge, or what a group answers.
type request struct {
	Status *struct{} `json:"report,omitempty"`
	Request
	Pledge *pledgeRequest `json:"pledge,omitempty"`
}

// response answers a request.
type response struct {
	Response
	Status *MemberStatus `json:"report,omitempty"`
}

// pledgeRequest asks a node for its pledge.
type pledgeRequest struct {
	Of raft.ServerID `json:"of"`
	To pledge        `json:"to"`
}

// rpcWriteTimeout bounds the sending of an answer.
const rpcWriteTimeout = 2 * time.Second

// serveRPC answers the requests on a connection until it closes.
func (n *Node) serveRPC(conn net.Conn) {
	for {
		var q request
		_ = conn.SetReadDeadline(time.Now().Add(rpcTimeout))
		if err := transport.ReadJSON(conn, &q); err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(n.raft.ctx, rpcTimeout)
		answer := n.handleRPC(ctx, q)
		cancel()
		_ = conn.SetWriteDeadline(time.Now().Add(rpcWriteTimeout))
		if err := transport.WriteJSON(conn, answer); err != nil {
			return
		}
	}
}

func (n *Node) handleRPC(ctx context.Context, q request) (a response) {
	var err error
	switch {
	case q.Status != nil:
		own := n.ownStatus()
		return response{Status: &own}
	case q.Pledge != nil && q.Pledge.Of != n.id:
		err = errors.New("this is another node")
	case q.Pledge != nil:
		err = n.pledges.give(ctx, q.Pledge.To)
	default:
		return response{Response: n.Handle(ctx, q.Request)}
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// Handle carries out another node's request, if this node leads.
func (n *Node) Handle(ctx context.Context, q Request) (a Response) {
	var err error
	switch {
	case n.role.awaitActive() == nil:
		return Response{Error: "this node does not lead", Leader: n.leader.address()}
	case q.Join != nil:
		err = n.members.join(ctx, *q.Join)
	case q.Admin != nil:
		err = n.handleAdmin(ctx, *q.Admin)
	default:
		err = errors.New("unknown request; is this node's version older?")
	}
	if err != nil {
		a.Error = err.Error()
	}
	if errors.Is(err, errHandedOver) {
		a.Leader = n.leader.address()
	}
	return a
}

// handleAdmin executes an operator's request.
func (n *Node) handleAdmin(ctx context.Context, o AdminRequest) error {
	switch o.Do {
	case "add":
		return n.members.add(ctx, o)
	case "remove":
		return n.members.remove(ctx, o.Node)
	case "transfer":
		return n.raft.await(ctx, func() error { return n.transfers.transfer(o.Node) })
	}
	return errors.New("unknown request; is this node's version older?")
}

// ownStatus is this node's status, as others ask for it.
func (n *Node) ownStatus() MemberStatus {
	r := n.OwnStatus()
	r.Client, r.Report = n.opt.Client, n.ownReport()
	if !r.Started {
		r.Pledged = n.pledges.givenTo()
	}
	return r
}

// OwnStatus is the status of this node as a member.
func (n *Node) OwnStatus() MemberStatus {
	r := MemberStatus{
		ID: n.id, ClusterID: n.saved.clusterID(), Started: n.raft.hasLog(),
		Leader: n.leader.address(), Term: n.raft.CurrentTerm(), Applied: n.fsm.Applied.Load(), Last: n.raft.LastIndex(), Now: n.clock.Now(),
	}
	r.Unhealthy, r.Gone = !n.health.isHealthy(), n.raft.State() == raft.Shutdown
	r.Slow, r.Formats = n.withdrawal.isSlow(), n.formats.Stated()
	own := n.holder.report()
	r.Process, r.ProcessBefore = own.Process, own.After
	if n.raft.State() != raft.Leader {
		r.Silent = time.Since(n.raft.LastContact())
	}
	if l := n.role.current.Load(); l != nil {
		r.Leads, r.Leader = true, n.opt.Advertise
		r.Leased = l.hasLease(n.clock.Moment()) // after the index was read
	}
	return r
}

// ownReport is the traffic of this node's own clients, nil if it is not counted.
func (n *Node) ownReport() *clusterstatus.Report {
	if n.opt.Report == nil {
		return nil
	}
	return n.opt.Report()
}

// callLeader sends a request to the leader, or handles it here if this node leads.
func (n *Node) callLeader(ctx context.Context, q Request) error {
	address := n.opt.Advertise
	if n.role.current.Load() == nil {
		if address = n.leader.address(); address == "" {
			return ErrNoLeader
		}
	}
	for range 3 {
		var a Response
		var err error
		if address == n.opt.Advertise {
			a = n.Handle(ctx, q)
		} else if a, err = n.statuses.Ask(ctx, address, q); err != nil {
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
	return ErrNoLeader
}

// ErrNoLeader is wrapped by the errors of operations that only a leader can do, while none is known.
var ErrNoLeader = errors.New("the cluster has no leader at the moment")
