package conn

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/latency"
	"github.com/stintdb/stint/server/slowlog"
)

// count counts one answered command, in the tally of out.
func (s *Session) count(r *reply, batch, out *commandBatch, failed bool) {
	t := &out.tally
	if r.row == nil {
		t.Command(s.env.Stats.Recorder.Unknown(), failed)
		return
	}
	number := r.row.Number
	if r.row.Flags&command.Decides == 0 {
		t.Command(number, failed)
		if r.row.Flags&command.ReadOnly != 0 {
			s.env.Lookups.NoteLooks(batch.decision.Ops[r.first:r.first+r.count], batch.decision.Results[r.first:r.first+r.count])
		}
		if r.row.Flags&command.Admin != 0 && !failed {
			s.env.noteChange(r, batch, &s.client, s.public.Addr())
		}
		return
	}
	if failed {
		t.Failed(number)
		return
	}
	op, res := &batch.decision.Ops[r.first], &batch.decision.Results[r.first]
	if request := op.Request(); request.Verb == engine.Check && op.Options&engine.Peek == 0 {
		s.env.Keys.CountCheck(batch.key(r.first, 0), res)
		if s.env.config().TopKeys != "off" {
			s.env.Recent.Note(batch.key(r.first, 0), batch.key(r.first, 1), batch.fields(r.first), s.started,
				request.Tokens, !res.Allowed)
		}
	}
	switch {
	case op.Options&engine.Peek != 0, res.Status == engine.NotFound: // nothing was decided
		t.Command(number, false)
	case res.Allowed:
		t.Granted(number, res.Granted, op.Tokens)
		if s.env.TopKeys.IsCounting() && out.passes.Due() {
			s.env.offerGranted(r.first, batch, out, s.started)
		}
	default:
		t.Denied(number, op.Tokens)
		if out.sampler.Due() {
			s.env.offerTopKey(r.first, batch, out, s.started)
		}
		if s.env.config().DenialEvents > 0 {
			s.env.noteDenial(r, batch, out, s.started)
		}
	}
}

// record ends a turn: it adds the batch's tally to the server's counters and records a slow turn. The latency of each
// command is the time since all of them arrived, because their replies leave together. Only the time of execution makes
// a turn slow: a wait for a majority, for a disk or for a turn among users does not count.
func (s *Session) record(batch *commandBatch, since int64) (now int64) {
	first := batch.first
	batch.first = nil // it lies in the input
	if batch.tally.IsEmpty() {
		return since
	}
	now = s.env.Clock.Now()
	nanos := now - since
	commands := batch.tally.Flush(nanos)
	nanos -= s.timed
	s.noteLatency(now, nanos, commands > s.timedCount,
		func() []string { return slowlog.TurnArgs(first, s.reader.Limits, commands) })
	s.timed, s.timedCount = 0, 0
	return now
}

// noteTurn records a turn, or the part of it since it was recorded last, and charges the time.
func (s *Session) noteTurn(batch *commandBatch) {
	now := s.record(batch, s.started)
	s.turn.ChargeTime(now - s.started)
	s.turn.Settle()
	s.started = now
}

// noteLatency records that the execution of commands took some time until now. Listed commands may go to the slow log,
// with these arguments.
func (s *Session) noteLatency(now, nanos int64, listed bool, args func() []string) {
	if listed && s.env.SlowLog.IsSlow(nanos) {
		s.env.SlowLog.Note(command.SlowCommand{UnixSec: now / 1e9, Micros: nanos / 1000, Addr: s.public.Addr(),
			Name: s.client.Name, Args: args()})
	}
	if nanos >= int64(time.Millisecond) {
		s.env.Latency.Note(latency.Command, nanos)
	}
}
