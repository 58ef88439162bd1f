package group

import (
	"context"
	"net"
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/forward"
	"github.com/stintdb/stint/engine"
)

// connectForwarding connects both ends of forwarding with this node.
func connectForwarding(g *Group) {
	g.forwarded = &forward.Server{Ctx: g.raft.Ctx, Decide: g.decider.DecideForwarded, Now: func() int64 {
		if g.role.current.Load() == nil {
			return 0
		}
		return g.clock.Stamp()
	}, Refused: func(from net.Addr, err error) {
		if g.peers.NoteRefusal(from.String(), err) > 0 {
			g.log.Warn("closed a connection for forwarded operations", "from", from.String(), "error", err)
		}
	}}
	f := g.forwarder
	f.LeaderChanged, f.ObserveTime, f.Grace = &g.leader.changed, g.clock.ObserveLeader, g.opt.Heartbeat/2
	f.Patience, f.Leads = Patience(g.opt.DecideTimeout), func() bool { return g.role.current.Load() != nil }
	f.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		return g.peers.DialCalls(ctx, address, g.opt.Number)
	}
	f.Fail = func(c *call.Call, status engine.Status) { g.metrics.countFailure(c.Fail(status)) }
	f.Leader = func() string {
		if g.role.current.Load() != nil {
			return ""
		}
		return g.leader.address()
	}
	f.Decide = func(c *call.Call) bool {
		if g.role.active() == nil {
			return false
		}
		status := engine.Importing
		if !g.opt.AwaitsImport() {
			status = g.allowance.Requeue(g.proposer, c)
		}
		if status != engine.OK {
			g.metrics.countFailure(c.Fail(status))
		}
		return true
	}
}

// Patience is how long a leader may be missing before calls are answered at once in place of waiting for one. It is
// longer than an election takes.
func Patience(decideTimeout time.Duration) time.Duration { return max(5*time.Second, decideTimeout) }
