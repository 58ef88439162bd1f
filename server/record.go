package server

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// isError reports whether what was written from mark on is an error.
func isError(replies []byte, mark int) bool { return len(replies) > mark && replies[mark] == '-' }

// count counts one answered command of ws, in the tally of out.
func (s *session) count(r *reply, ws, out *workspace, failed bool) {
	t := &out.tally
	if r.row == nil {
		t.Command(s.host.recorder.Unknown(), failed)
		return
	}
	number := r.row.Number
	t.Command(number, failed)
	if r.row.Flags&command.Decides == 0 {
		return
	}
	if failed {
		t.Failed(number)
		return
	}
	op, res := &ws.batch.Ops[r.first], &ws.batch.Results[r.first]
	switch {
	case op.Options&engine.Peek != 0: // nothing was decided
	case res.Allowed:
		t.Granted(number, res.Granted, op.Tokens)
	default:
		t.Denied(number, op.Tokens)
		s.deny(r.first, ws, out)
	}
}

// endTurn records what was carried out since it arrived.
func (s *session) endTurn(ws *workspace) {
	if !ws.tally.IsEmpty() {
		s.started = s.record(ws, s.started)
	}
}

// record adds a workspace's tally to the server's counters. All its commands took the time since they arrived, as their
// replies leave together.
func (s *session) record(ws *workspace, since int64) (now int64) {
	now = s.host.clock.Now()
	ws.tally.Flush(now - since)
	return now
}
