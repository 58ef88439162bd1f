package server

import (
	"time"

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
	if r.row.Flags&command.Decides == 0 {
		t.Command(number, failed)
		return
	}
	if failed {
		t.Failed(number)
		return
	}
	op, res := &ws.batch.Ops[r.first], &ws.batch.Results[r.first]
	switch {
	case op.Options&engine.Peek != 0: // nothing was decided
		t.Command(number, false)
	case res.Allowed:
		t.Granted(number, res.Granted, op.Tokens)
	default:
		t.Denied(number, op.Tokens)
		if out.sampler.Due() {
			s.listDenied(r.first, ws, out)
		}
	}
}

// endTurn records what was carried out since it arrived.
func (s *session) endTurn(ws *workspace) {
	if !ws.tally.IsEmpty() {
		s.started = s.record(ws, s.started)
	}
	ws.first = nil // it lies in the input
}

// record adds a workspace's tally to the server's counters, and notes a turn that took long. All its commands took the
// time since they arrived, as their replies leave together.
func (s *session) record(ws *workspace, since int64) (now int64) {
	now = s.host.clock.Now()
	nanos := now - since
	commands := ws.tally.Flush(nanos)
	if nanos -= s.timed; commands > s.timedCount && s.host.isSlow(nanos) {
		s.slowTurn(nanos, ws.first, commands)
	}
	if nanos >= int64(time.Millisecond) {
		s.host.spike(eventCommand, nanos)
	}
	s.timed, s.timedCount = 0, 0
	return now
}

// runTimed carries out a command that may take long by itself.
func (s *session) runTimed(row *command.Row, args [][]byte, ws *workspace) {
	start := s.host.clock.Now()
	row.Run(s, &ws.out, args)
	nanos := s.host.clock.Now() - start
	s.timed += nanos
	s.timedCount++
	if s.host.isSlow(nanos) {
		s.slow(nanos, keptArgs(args))
	}
	if nanos >= int64(time.Millisecond) {
		s.host.spike(eventCommand, nanos)
	}
}
