package peers

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// Server answers the requests of other nodes. Its functions describe this node.
type Server struct {
	ID  raft.ServerID
	Log *oncelog.Log

	Group     func(number uint32) *group.Group     // the replica here of a group; nil for none
	Status    func() group.MemberStatus            // as a member of group 0
	KeyGroups func() map[uint32]group.MemberStatus // as a member of the groups of keys, by their numbers
	Counts    func() *clusterstatus.Counts         // for the page of another node; nil without a page
	Pledge    func(context.Context, Pledge) error  // gives this node's pledge, or says why not
}

// Serve answers the requests on a connection until the connection closes. ctx bounds each answer.
func (s *Server) Serve(ctx context.Context, conn net.Conn) {
	for {
		var q request
		_ = conn.SetReadDeadline(time.Now().Add(group.RPCTimeout))
		if err := transport.ReadJSON(conn, &q); err != nil {
			return
		}
		if q.State != nil {
			if err := s.sendState(ctx, conn, q.Group, *q.State); err != nil {
				s.Log.Debug("the state of a group was not sent completely", "group", q.Group, "error", err)
			}
			return
		}
		asked, cancel := context.WithTimeout(ctx, group.RPCTimeout)
		answer := s.answer(asked, q)
		cancel()
		_ = conn.SetWriteDeadline(time.Now().Add(rpcWriteTimeout))
		if err := transport.WriteJSON(conn, answer); err != nil {
			return
		}
	}
}

func (s *Server) answer(ctx context.Context, q request) (a response) {
	var err error
	switch g := s.Group(q.Group); {
	case g == nil:
		err = errNoGroup(q.Group)
	case q.Left != "":
		return response{HasLeft: group.HasLeft(ctx, g, q.Left)}
	case q.Status != nil && q.Group != 0:
		own := g.OwnStatus()
		return response{Status: &own}
	case q.Status != nil:
		own := s.Status()
		if q.Status.Counts && own.Report != nil && s.Counts != nil {
			report := *own.Report
			report.Counts, own.Report = s.Counts(), &report
		}
		return response{Status: &own, KeyGroups: s.KeyGroups()}
	case q.Pledge != nil && q.Pledge.Of != s.ID:
		err = errors.New("this is another node")
	case q.Pledge != nil:
		err = s.Pledge(ctx, q.Pledge.To)
	default:
		return response{Response: g.Handle(ctx, q.Request)}
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}
