package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/stats"
)

// writeReplies writes the replies of a decided batch to out.
func (s *Session) writeReplies(batch, out *commandBatch) {
	s.limiterReplied = s.limiterReplied || len(batch.decision.Ops) > 0
	w := &out.out
	start, words := len(w.Buf), w.Words
	if s.public.Cache.Client() != nil {
		s.public.Cache.EndDecision(batch.own, batch.decision.Results)
	}
	if batch.exec && s.writeNotExecuted(batch, out) {
		return
	}
	if batch.exec && !batch.quiet {
		w.Array(len(batch.replies))
	}
	s.inExec = batch.exec
	s.env.TopKeys.Follow(&out.sampler)
	s.env.TopKeys.FollowPassed(&out.passes)
	if batch.scripts > 0 {
		s.scriptReply /= 2
	}
	for i := range batch.replies {
		r := &batch.replies[i]
		mark := len(w.Buf)
		s.writeReply(r, batch, out)
		if r.row != nil && r.row.Cost == command.ScriptRun {
			s.scriptReply = max(s.scriptReply, len(w.Buf)-mark)
		}
		if r.keyWait == nil || s.keyWait == nil { // it is answered
			s.count(r, batch, out, isError(w.Buf, mark))
		}
		if r.quiet {
			w.Buf = w.Buf[:mark]
		}
		if batch.exec && len(w.Buf)-start > s.env.config().OutputBufferBytes {
			w.Buf = w.Buf[:start]
			w.Error(command.ErrExecTooBig.Error())
			break
		}
	}
	s.inExec = false
	s.turn.ChargeWritten(w, words, start)
	if len(w.Buf)-start > outputChunk {
		batch.decision.Results = nil // they hold lists as long, and would keep the room for them
	}
	if batch.publishesTo != "" {
		s.subscriptions.publishesTo, batch.publishesTo = batch.publishesTo, ""
	}
	batch.clear()
}

// writeNotExecuted answers a transaction as a whole if it was not decided, or not for certain, or if a watched key has
// changed.
func (s *Session) writeNotExecuted(batch, out *commandBatch) bool {
	results := batch.decision.Results
	err := s.env.undecided(batch.decision.Ops, results, batch.slot)
	changed := err == nil && len(results) > 0 && results[0].Status == engine.KeyChanged
	if err == nil && !changed {
		return false
	}
	switch {
	case batch.quiet:
	case changed:
		out.out.NullArray()
	default:
		out.out.Error(err.Error())
	}
	if !changed {
		for i := range batch.replies {
			s.count(&batch.replies[i], batch, out, true)
		}
	}
	batch.clear()
	return true
}

func (s *Session) writeReply(r *reply, batch, out *commandBatch) {
	ops, results := batch.decision.Ops[r.first:r.first+r.count], batch.decision.Results[r.first:r.first+r.count]
	err := r.err
	if err == nil {
		err = s.env.undecided(ops, results, r.slot)
	}
	if len(ops) > 0 && ops[0].Verb == engine.Fingerprint {
		err = noteWatch(s, batch, r, err)
	}
	switch {
	case r.keyWait != nil && s.answerKeyWait(r, results, err):
	case err != nil:
		out.out.Error(err.Error())
	case r.args != nil:
		s.turn.Charge(r.row.Work())
		r.row.Run(commandSession{s}, &out.out, r.args)
	case r.block && results[0].Allowed && results[0].Wait > 0:
		s.block(r, ops[0], results[0])
	default:
		if len(results) == 1 && results[0].Status == engine.NotPermitted {
			s.Denied(stats.KeyDenied, "key", string(results[0].Reply))
		}
		out.out.Shape = r.shape
		r.row.Reply(&out.out, ops, results)
	}
}

// undecided is the error of operations without a decision, or with an uncertain one; nil if all were decided.
func (e *Env) undecided(ops []engine.Op, results []engine.Result, slot uint16) error {
	status := command.Undecided(ops, results)
	if status == engine.OK {
		return nil
	}
	leader := ""
	if e.Cluster != nil {
		if status == engine.TooNew {
			return command.ErrTooNew.With(e.Cluster.TooNew(ops))
		}
		leader, _ = e.Cluster.Redirects(&ops[0])
	}
	return command.UndecidedError(status, int(slot), leader)
}

// isError reports whether the reply that begins at mark is an error.
func isError(replies []byte, mark int) bool { return len(replies) > mark && replies[mark] == '-' }
