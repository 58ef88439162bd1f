package conn

import (
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// Replies of a cluster node to commands that another node must decide.

// redirects reports whether clients are sent to the leader with operations, and the address of the leader. While the
// leader is unknown the decider gets them, and waits for a leader at most --decide-timeout. A connection after READONLY
// has reads answered here.
func (s *Session) redirects(ops []engine.Op) (leader string, redirect bool) {
	if leader, redirect = s.env.Cluster.Redirects(&ops[0]); !redirect || leader == "" {
		return "", false
	}
	reads := s.client.ReadOnly && !slices.ContainsFunc(ops, func(op engine.Op) bool { return op.Writes() })
	return leader, !reads
}

// redirect answers the command parsed last with MOVED if another node has to decide it.
func (s *Session) redirect(batch *commandBatch) {
	last := &batch.replies[len(batch.replies)-1]
	if !s.env.Redirect || s.forwards || last.count == 0 {
		return
	}
	ops := batch.decision.Ops[last.first:]
	leader, redirect := s.redirects(ops)
	last.slot = uint16(command.SlotOf(&ops[0]))
	if redirect {
		last.err = command.UndecidedError(engine.Moved, int(last.slot), leader)
		last.count, last.block, batch.request.Hold = 0, false, false
		batch.decision.Ops = batch.decision.Ops[:last.first]
	}
}

// redirectExec answers an EXEC whose commands were queued before this node ceased to be the leader.
func (s *Session) redirectExec(batch *commandBatch, w *resp.Writer) bool {
	ops := batch.decision.Ops
	if !s.env.Redirect || s.forwards || len(ops) == 0 {
		return false
	}
	batch.slot = uint16(command.SlotOf(&ops[0]))
	leader, redirect := s.redirects(ops)
	if redirect {
		w.Error(command.UndecidedError(engine.Moved, int(batch.slot), leader).Error())
	}
	return redirect
}
