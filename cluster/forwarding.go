package cluster

import (
	"context"
	"net"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/forward"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
)

// connectForwarding connects both ends of forwarding with this node.
func (n *Node) connectForwarding() {
	n.forwarded = &forward.Server{Ctx: n.raft.ctx, Decide: n.decider.decideForwarded, Now: func() int64 {
		if n.role.current.Load() == nil {
			return 0
		}
		return n.clock.Stamp()
	}, Refused: func(from net.Addr, err error) {
		if n.peers.NoteRefusal(from.String(), err) > 0 {
			n.log.Warn("closed a connection for forwarded operations", "from", from.String(), "error", err)
		}
	}}
	f := n.forwarder
	f.LeaderChanged, f.ObserveTime, f.Grace = &n.leader.changed, n.clock.ObserveLeader, n.opt.Heartbeat/2
	f.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		conn, _, err := n.peers.Dial(ctx, address, transport.ForCalls)
		return conn, err
	}
	f.Fail = func(c *call.Call, status engine.Status) { n.metrics.countFailure(c.Fail(status)) }
	f.Leader = func() string {
		if n.role.current.Load() != nil {
			return ""
		}
		return n.leader.address()
	}
	f.Decide = func(c *call.Call) bool {
		if n.role.active() == nil {
			return false
		}
		if status := n.share.Requeue(n.proposer, c); status != engine.OK {
			n.metrics.countFailure(c.Fail(status))
		}
		return true
	}
}
