package server

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// flush has the batch decided and writes the replies, unless the decider needs longer.
func (s *session) flush(ws *workspace) {
	if len(ws.replies) == 0 {
		return
	}
	b := &ws.batch
	if len(b.Ops) > 0 {
		if cap(b.Results) < len(b.Ops) {
			b.Results = make([]engine.Result, len(b.Ops), max(64, 2*len(b.Ops)))
		}
		b.Results = b.Results[:len(b.Ops)]
		b.Local = s.client.ReadOnly
		b.Done = s.onDecided
		if !s.host.decider.Decide(b) {
			s.kept, ws.started = ws, s.started
			ws.kept.keep(b.Ops, ws.first)
			return
		}
	}
	s.answer(ws, ws)
}

// answer writes the replies of a decided batch to out.
func (s *session) answer(ws, out *workspace) {
	s.answered = s.answered || len(ws.batch.Ops) > 0
	w := &out.out
	start := len(w.Buf)
	if ws.exec && s.answerUndecided(ws, out) {
		return
	}
	if ws.exec && !ws.replies[0].quiet {
		w.Array(len(ws.replies))
	}
	s.inExec = ws.exec
	s.host.denied.Follow(&out.sampler)
	for i := range ws.replies {
		r := &ws.replies[i]
		mark := len(w.Buf)
		s.answerOne(r, ws.batch.Ops[r.first:r.first+r.count], ws.batch.Results[r.first:r.first+r.count], out)
		s.count(r, ws, out, isError(w.Buf, mark))
		if r.quiet {
			w.Buf = w.Buf[:mark]
		}
		if ws.exec && len(w.Buf)-start > s.host.Config().OutputBufferBytes {
			w.Buf = w.Buf[:start]
			w.Error(command.ErrExecTooBig.Error())
			break
		}
	}
	s.inExec = false
	ws.clear()
}

func (s *session) answerOne(r *reply, ops []engine.Op, results []engine.Result, out *workspace) {
	switch {
	case r.err != nil:
		out.out.Error(r.err.Error())
	case r.args != nil:
		r.row.Run(s, &out.out, r.args)
	case command.Undecided(ops, results) != engine.OK:
		out.out.Error(s.undecided(command.Undecided(ops, results), int(r.slot)))
	case r.hold && results[0].Allowed && results[0].Wait > 0:
		s.hold(r, ops[0], results[0])
	default:
		r.row.Reply(&out.out, ops, results)
	}
}
