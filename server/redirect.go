package server

import (
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// What a node of a cluster does with commands that another node has to decide, or that none decided.

// redirects reports whether clients are sent to the leader with operations, and where it is. While that is not known the
// decider is asked, who waits for a leader as long as --decide-timeout. A connection after READONLY has reads answered
// here.
func (s *session) redirects(ops []engine.Op) (leader string, redirect bool) {
	if leader, redirect = s.host.cluster.Redirects(); !redirect || leader == "" {
		return "", false
	}
	reads := s.client.ReadOnly && !slices.ContainsFunc(ops, func(op engine.Op) bool { return op.Writes() })
	return leader, !reads
}

// redirect answers the command parsed last with MOVED, if that is this node's part.
func (s *session) redirect(ws *workspace) {
	last := &ws.replies[len(ws.replies)-1]
	if !s.host.redirecting || last.count == 0 {
		return
	}
	ops := ws.batch.Ops[last.first:]
	last.slot = uint16(command.SlotOf(&ops[0]))
	if leader, redirect := s.redirects(ops); redirect {
		last.err = command.UndecidedError(engine.Moved, int(last.slot), leader)
		last.count, last.hold, ws.request.Hold = 0, false, false
		ws.batch.Ops = ws.batch.Ops[:last.first]
	}
}

// redirectQueued is the error of a command that is not queued between MULTI and EXEC because it belongs elsewhere.
func (s *session) redirectQueued(row *command.Row, args [][]byte) error {
	if !s.host.redirecting || row.Parse == nil {
		return nil
	}
	r := command.Request{Args: args}
	r.SetBounds(bounds(s.host.Config()))
	if err := row.Parse(&r); err != nil || len(r.Ops) == 0 {
		return nil // EXEC tells
	}
	if leader, redirect := s.redirects(r.Ops); redirect {
		return command.UndecidedError(engine.Moved, command.SlotOf(&r.Ops[0]), leader)
	}
	return nil
}

// redirectExec answers an EXEC whose commands were queued before this node ceased to be the leader.
func (s *session) redirectExec(ws *workspace, w *resp.Writer) bool {
	ops := ws.batch.Ops
	if !s.host.redirecting || len(ops) == 0 {
		return false
	}
	ws.replies[0].slot = uint16(command.SlotOf(&ops[0]))
	leader, redirect := s.redirects(ops)
	if redirect {
		w.Error(command.UndecidedError(engine.Moved, int(ws.replies[0].slot), leader).Error())
	}
	return redirect
}

// undecided is the error for what was not decided, or not for certain.
func (s *session) undecided(status engine.Status, slot int) string {
	leader := ""
	if s.host.cluster != nil {
		leader, _ = s.host.cluster.Redirects()
	}
	return command.UndecidedError(status, slot, leader).Error()
}

// answerUndecided answers a transaction as a whole if it was not decided, or not for certain: it is all or nothing.
func (s *session) answerUndecided(ws, out *workspace) bool {
	status := command.Undecided(ws.batch.Ops, ws.batch.Results)
	if status == engine.OK {
		return false
	}
	if !ws.replies[0].quiet {
		out.out.Error(s.undecided(status, int(ws.replies[0].slot)))
	}
	for i := range ws.replies {
		s.count(&ws.replies[i], ws, out, true)
	}
	ws.clear()
	return true
}
