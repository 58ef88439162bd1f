package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/transport"
)

// request is a question or request of one node to another about the cluster itself: its status, a pledge, or a request to its group.
type request struct {
	Group  uint32         `json:"group,omitempty"` // that it is about
	Status *statusRequest `json:"report,omitempty"`
	group.Request
	Pledge *pledgeRequest `json:"pledge,omitempty"`
	State  *stateRequest  `json:"state,omitempty"`
	Left   raft.ServerID  `json:"left,omitempty"` // asks a leader whether this replica has left its group
}

// statusRequest asks a node for its status.
type statusRequest struct {
	Counts bool `json:"counts,omitempty"` // too
}

// response answers a request.
type response struct {
	group.Response
	Status    *group.MemberStatus           `json:"report,omitempty"`
	HasLeft   bool                          `json:"left,omitempty"`
	KeyGroups map[uint32]group.MemberStatus `json:"groups,omitempty"` // with the status in group 0
}

// pledgeRequest asks a node for its pledge.
type pledgeRequest struct {
	Of raft.ServerID `json:"of"`
	To pledge        `json:"to"`
}

// rpcWriteTimeout bounds the sending of an answer.
const rpcWriteTimeout = 2 * time.Second

// serveRPC answers the requests on a connection until it closes.
func (n *Node) serveRPC(conn net.Conn, _ transport.Hello) {
	for {
		var q request
		_ = conn.SetReadDeadline(time.Now().Add(group.RPCTimeout))
		if err := transport.ReadJSON(conn, &q); err != nil {
			return
		}
		if q.State != nil {
			if err := n.sendState(conn, q.Group, *q.State); err != nil {
				n.log.Debug("the state of a group was not sent whole", "group", q.Group, "error", err)
			}
			return
		}
		ctx, cancel := context.WithTimeout(n.ctx, group.RPCTimeout)
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
	switch g := n.groupOf(q.Group); {
	case g == nil:
		err = fmt.Errorf("this node has no group %d", q.Group)
	case q.Left != "":
		return response{HasLeft: group.HasLeft(ctx, g, q.Left)}
	case q.Status != nil && q.Group != 0:
		own := g.OwnStatus()
		return response{Status: &own}
	case q.Status != nil:
		own := n.ownStatus()
		if q.Status.Counts && own.Report != nil && n.opt.Counts != nil {
			report := *own.Report
			report.Counts, own.Report = n.opt.Counts(), &report
		}
		return response{Status: &own, KeyGroups: n.keys.ownStatuses()}
	case q.Pledge != nil && q.Pledge.Of != n.id:
		err = errors.New("this is another node")
	case q.Pledge != nil:
		err = n.pledges.give(ctx, q.Pledge.To)
	default:
		return response{Response: g.Handle(ctx, q.Request)}
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// ownStatus is this node's status, as others ask for it.
func (n *Node) ownStatus() group.MemberStatus {
	r := n.Group().OwnStatus()
	patterns := n.opt.patterns()
	r.Full, r.Shared = n.full.Load(), &patterns
	if !r.Started {
		r.Pledged, r.ImportName = n.pledges.givenTo(), n.opt.ImportName
	}
	return r
}
